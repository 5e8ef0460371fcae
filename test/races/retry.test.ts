import { describe, expect, test } from "vitest";
import { age } from "../support/ageing.ts";
import { call, claim, enqueue, enqueueMany, expired, failed, running } from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const prune = (on: Parameters<typeof call>[0], older_than_ms = 0) =>
  call(on, "prune", { older_than_ms });
const unknown = { outcome: "unknown", id: null, status: null };

describe("retry and retry", () => {
  test.each(["commit", "rollback"] as const)(
    "of two of the same job the second waits, and decides after the first's %s",
    async (end) => {
      const id = await failed(race, { key: "k" });
      const [first, second] = await race.pair();
      await first.begin();
      expect(await call(first, "retry", id)).toEqual({ outcome: "retried", id, status: "queued" });
      const waiting = await race.blocked(second, (on) => call(on, "retry", id));
      await first[end]();
      const outcome = end === "commit" ? "wrong_status" : "retried";
      expect(await waiting.answer).toEqual({ outcome, id, status: "queued" });
      expect(await race.stories()).toEqual(["k queued 0/5 g1 r2 BROKEN | failed, retried"]);
    },
  );

  test.each(["commit", "rollback"] as const)(
    "of two jobs of one key the second waits, and decides after the first's %s",
    async (end) => {
      const [a, b] = [await failed(race, { key: "k" }), await failed(race, { key: "k" })];
      const [first, second] = await race.pair();
      await first.begin();
      await call(first, "retry", a);
      const waiting = await race.blocked(second, (on) => call(on, "retry", b));
      await first[end]();
      const answer = [
        { outcome: "conflict", id: b, status: "failed" },
        { outcome: "retried", id: b, status: "queued" },
      ];
      expect(await waiting.answer).toEqual(answer[end === "commit" ? 0 : 1]);
      const stories = [
        "k failed 1/5 g1 r1 BROKEN | failed",
        "k queued 0/5 g1 r2 BROKEN | failed, retried",
      ];
      expect((await race.stories()).sort()).toEqual(stories);
      expect(await claim(race)).toMatchObject([{ id: end === "commit" ? a : b, generation: 2 }]);
    },
  );
});

describe("retry_many and an enqueue_many", () => {
  test("that waits for no unfinished job which the other has no use for", async () => {
    const a = await failed(race, { key: "a" });
    const b = (await enqueue(race, { key: "b" })).id;
    const [user, operator] = await race.pair();
    await user.begin();
    // One call in two halves: it takes its keys in their order.
    await enqueueMany(user, [{ key: "a" }]);
    const ids = { ids: [a, b] };
    const waiting = await race.blocked(operator, (on) => call(on, "retry_many", ids));
    // Were b locked as well, each would wait for the other.
    const replace = [{ key: "b", on_conflict: "replace" }];
    expect(await enqueueMany(user, replace)).toMatchObject([{ outcome: "replaced", id: b }]);
    await user.commit();
    expect(await waiting.answer).toEqual({
      retried: 0,
      skipped: [
        { id: a, outcome: "conflict" },
        { id: b, outcome: "wrong_status" },
      ],
    });
  });
});

describe("retry and an enqueue under the same key", () => {
  test.each(["commit", "rollback"] as const)(
    "a retry waits for the enqueue, and decides after its %s",
    async (end) => {
      const id = await failed(race, { key: "k" });
      const [user, operator] = await race.pair();
      await user.begin();
      await enqueue(user, { key: "k" });
      const waiting = await race.blocked(operator, (on) => call(on, "retry", id));
      await user[end]();
      const lost = { outcome: "conflict", id, status: "failed" };
      const won = { outcome: "retried", id, status: "queued" };
      expect(await waiting.answer).toEqual(end === "commit" ? lost : won);
      expect(await race.stories()).toEqual(
        end === "commit"
          ? ["k failed 1/5 g1 r1 BROKEN | failed", "k queued 0/5 g0 r1"]
          : ["k queued 0/5 g1 r2 BROKEN | failed, retried"],
      );
    },
  );

  test.each(["commit", "rollback"] as const)(
    "an enqueue waits for the retry, and decides after its %s",
    async (end) => {
      const id = await failed(race, { key: "k" });
      const [operator, user] = await race.pair();
      await operator.begin();
      await call(operator, "retry", id);
      const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
      await operator[end]();
      expect(await waiting.answer).toMatchObject(
        end === "commit"
          ? { outcome: "conflict", holder: { id, status: "queued" } }
          : { outcome: "created" },
      );
      expect(await race.stories()).toHaveLength(end === "commit" ? 1 : 2);
    },
  );

  test("a retry in the user's open transaction leaves it usable when it lost", async () => {
    const id = await failed(race, { key: "k" });
    const [rival, user] = await race.pair();
    await rival.begin();
    await enqueue(rival, { key: "k" });
    await user.begin();
    await enqueue(user, { key: "other" });
    const waiting = await race.blocked(user, (on) => call(on, "retry", id));
    await rival.commit();
    expect(await waiting.answer).toMatchObject({ outcome: "conflict" });
    await user.commit();
    expect(await race.stories()).toEqual([
      "k failed 1/5 g1 r1 BROKEN | failed",
      "k queued 0/5 g0 r1",
      "other queued 0/5 g0 r1",
    ]);
  });

  test.each([
    { what: "on its last attempt", cancel: false, end: "failed", events: "reaped" },
    {
      what: "with a cancel requested",
      cancel: true,
      end: "cancelled",
      events: "cancel_requested, reaped",
    },
  ])("a retry takes the key from an orphan $what", async ({ cancel, end, events }) => {
    const id = await failed(race, { key: "k" });
    const orphan = await running(race, { key: "k", max_attempts: cancel ? 5 : 1 });
    if (cancel) await call(race, "cancel", orphan.id);
    await age(race.db, orphan.id, 600_000);
    expect(await call(race, "retry", id)).toEqual({ outcome: "retried", id, status: "queued" });
    const story = await race.story(orphan.id);
    expect(story).toContain(`k ${end} 1/`);
    expect(story).toContain(`| ${events}`);
  });

  test("a retry answers conflict where the orphan that holds the key is locked", async () => {
    const id = await failed(race, { key: "k" });
    const orphan = await expired(race, { key: "k", max_attempts: 1 });
    const [worker, operator] = [await race.session(), await race.impatient()];
    await worker.begin();
    await call(worker, "guard", orphan.id, orphan.generation);
    expect(await call(operator, "retry", id)).toEqual({
      outcome: "conflict",
      id,
      status: "failed",
    });
    await worker.rollback();
    expect(await call(operator, "retry", id)).toMatchObject({ outcome: "retried" });
  });
});

describe("retry_many", () => {
  test("locks its jobs in one order, whatever the order of the ids", async () => {
    const [a, b, c] = [
      await failed(race, { key: "a" }),
      await failed(race, { key: "b" }),
      await failed(race, { key: "c" }),
    ];
    const gate = await race.session();
    const [first, second] = await race.pair();
    await gate.begin();
    await gate.query("select from leasehold.jobs where id = $1 for no key update", [b]);
    const up = await race.blocked(first, (on) => call(on, "retry_many", { ids: [a, b, c] }));
    const down = await race.blocked(second, (on) => call(on, "retry_many", { ids: [c, b, a] }));
    await gate.rollback();
    expect(await up.answer).toEqual({ retried: 3, skipped: [] });
    const skipped = [a, b, c].map((id) => ({ id, outcome: "wrong_status" }));
    expect(await down.answer).toEqual({ retried: 0, skipped });
    expect(await race.stories()).toEqual(
      ["a", "b", "c"].map((key) => `${key} queued 0/5 g1 r2 BROKEN | failed, retried`),
    );
  });

  test("goes on after a conflict with an enqueue_many in the opposite order", async () => {
    const ids: string[] = [];
    for (const key of ["a", "b", "c"]) ids.push(await failed(race, { key }));
    const gate = await race.session();
    const [operator, user] = await race.pair();
    await gate.begin();
    await enqueue(gate, { key: "b" });
    const retried = await race.blocked(operator, (on) => call(on, "retry_many", { ids }));
    const enqueued = await race.blocked(user, (on) =>
      enqueueMany(on, [{ key: "c" }, { key: "b" }, { key: "a" }]),
    );
    await gate.rollback();
    expect(await retried.answer).toEqual({ retried: 3, skipped: [] });
    expect(await enqueued.answer).toMatchObject(Array(3).fill({ outcome: "conflict" }));
    expect(await race.stories()).toHaveLength(3);
  });

  test("waits for a prune of one of its jobs, and then does not know that job", async () => {
    const [a, b] = [await failed(race, { key: "a" }), await failed(race, { key: "b" })];
    await age(race.db, b, 10_000);
    const [pruner, operator] = await race.pair();
    await pruner.begin();
    expect(await prune(pruner, 5_000)).toEqual({ deleted: 1 });
    const waiting = await race.blocked(operator, (on) => call(on, "retry_many", { ids: [b, a] }));
    await pruner.commit();
    expect(await waiting.answer).toEqual({
      retried: 1,
      skipped: [{ id: b, outcome: "unknown" }],
    });
    expect(await race.stories()).toEqual(["a queued 0/5 g1 r2 BROKEN | failed, retried"]);
  });

  test("keeps a prune from the jobs that it has not committed", async () => {
    const a = await failed(race, { key: "a" });
    await failed(race, { key: "b" });
    const [operator, pruner] = [await race.session(), await race.impatient()];
    await operator.begin();
    expect(await call(operator, "retry_many", { ids: [a] })).toEqual({ retried: 1, skipped: [] });
    expect(await prune(pruner)).toEqual({ deleted: 1 });
    await operator.commit();
    expect(await prune(pruner)).toEqual({ deleted: 0 });
    expect(await race.stories()).toEqual(["a queued 0/5 g1 r2 BROKEN | failed, retried"]);
  });
});

describe("remove and retry", () => {
  test.each(["commit", "rollback"] as const)(
    "a retry waits for a remove, and decides after its %s",
    async (end) => {
      const id = await failed(race, { key: "k" });
      const [admin, operator] = await race.pair();
      await admin.begin();
      expect(await call(admin, "remove", id)).toMatchObject({ outcome: "removed" });
      const waiting = await race.blocked(operator, (on) => call(on, "retry", id));
      await admin[end]();
      expect(await waiting.answer).toEqual(
        end === "commit" ? unknown : { outcome: "retried", id, status: "queued" },
      );
      expect(await race.stories()).toHaveLength(end === "commit" ? 0 : 1);
    },
  );

  test.each(["commit", "rollback"] as const)(
    "a remove waits for a retry, and decides after its %s",
    async (end) => {
      const id = await failed(race, { key: "k" });
      const [operator, admin] = await race.pair();
      await operator.begin();
      await call(operator, "retry", id);
      const waiting = await race.blocked(admin, (on) => call(on, "remove", id));
      await operator[end]();
      expect(await waiting.answer).toEqual(
        end === "commit"
          ? { outcome: "wrong_status", id, status: "queued" }
          : { outcome: "removed", id, status: "failed" },
      );
      expect(await race.stories()).toHaveLength(end === "commit" ? 1 : 0);
    },
  );
});

test("prune leaves a job that was retried and ended anew since it looked", async () => {
  const id = await failed(race, { key: "k" });
  await age(race.db, id, 60_000);
  const [operator, pruner] = await race.pair();
  // Reading goes on under this lock, row locks do not: it stops a prune that has looked already.
  await operator.begin();
  await operator.query("lock table leasehold.jobs in exclusive mode");
  const waiting = await race.blocked(pruner, (on) => prune(on, 30_000));
  await call(operator, "retry", id);
  await call(operator, "cancel", id);
  await operator.commit();
  expect(await waiting.answer).toEqual({ deleted: 0 });
  expect(await race.stories()).toEqual([
    "k cancelled 0/5 g1 r2 BROKEN | failed, retried, cancelled",
  ]);
});
