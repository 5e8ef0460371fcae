import { describe, expect, test } from "vitest";
import {
  call,
  claim,
  complete,
  enqueue,
  expired,
  guard,
  queued,
  release,
  running,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const created = { outcome: "created", id: expect.any(String), status: "queued" };
const conflict = (id: string | null, status: string) => ({
  outcome: "conflict",
  id: null,
  status: null,
  holder: { id, status },
});

describe("an enqueue under a key that another transaction is just taking", () => {
  test("answers conflict when the other commits", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    const { id } = await enqueue(first, { key: "k" });
    const waiting = await race.blocked(second, (on) => enqueue(on, { key: "k" }));
    await first.commit();
    expect(await waiting.answer).toEqual(conflict(id, "queued"));
    expect(await race.stories()).toEqual(["k queued 0/5 g0 r1"]);
  });

  test("answers created when the other rolls back", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    await enqueue(first, { key: "k" }, "first");
    const waiting = await race.blocked(second, (on) => enqueue(on, { key: "k" }, "second"));
    await first.rollback();
    expect(await waiting.answer).toEqual(created);
    expect(await race.stories()).toEqual(["k queued 0/5 g0 r1"]);
    expect(await race.value("select payload from leasehold.jobs")).toBe("second");
  });

  test("does not tell the id when the owners differ", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    await enqueue(first, { key: "k", owner: "ann" });
    const waiting = await race.blocked(second, (on) => enqueue(on, { key: "k", owner: "bob" }));
    await first.commit();
    expect(await waiting.answer).toEqual(conflict(null, "queued"));
  });

  test("replaces the other's payload where it was asked to", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    const { id } = await enqueue(first, { key: "k" }, "first");
    const options = { key: "k", on_conflict: "replace" };
    const waiting = await race.blocked(second, (on) => enqueue(on, options, "second"));
    await first.commit();
    expect(await waiting.answer).toEqual({ outcome: "replaced", id, status: "queued" });
    expect(await race.stories()).toEqual(["k queued 0/5 g0 r1 | replaced"]);
    expect(await race.value("select payload from leasehold.jobs")).toBe("second");
  });

  test("leaves the user's open transaction usable when it lost", async () => {
    const [first, user] = await race.pair();
    await race.query("create table if not exists orders (id int); truncate orders");
    await first.begin();
    const { id } = await enqueue(first, { key: "k" });
    await user.begin();
    await user.query("insert into orders values (1)");
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await first.commit();
    expect(await waiting.answer).toEqual(conflict(id, "queued"));
    await user.query("insert into orders values (2)");
    expect(await enqueue(user, { key: "other" })).toEqual(created);
    await user.commit();
    expect(await race.value("select count(*) from orders")).toBe(2);
    expect(await race.stories()).toEqual(["k queued 0/5 g0 r1", "other queued 0/5 g0 r1"]);
  });

  test("is one of twenty at once, of which exactly one is created", async () => {
    const sessions = await race.sessions(20);
    const answers = await Promise.all(sessions.map((on) => enqueue(on, { key: "k" })));
    const winners = answers.filter(({ outcome }) => outcome === "created");
    expect(winners).toEqual([created]);
    const losers = answers.filter(({ outcome }) => outcome !== "created");
    expect(losers).toEqual(Array(19).fill(conflict(winners[0].id, "queued")));
    expect(await race.stories()).toEqual(["k queued 0/5 g0 r1"]);
  });
});

describe("an enqueue whose key's holder is just ending", () => {
  test("answers created when the holder's completion commits", async () => {
    const holder = await running(race, { key: "k" });
    const [worker, user] = await race.pair();
    await worker.begin();
    await complete(worker, holder);
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await worker.commit();
    expect(await waiting.answer).toEqual(created);
    expect(await race.stories()).toEqual([
      "k completed 1/5 g1 r1 result=done",
      "k queued 0/5 g0 r1",
    ]);
  });

  test("answers conflict when the holder's completion rolls back", async () => {
    const holder = await running(race, { key: "k" });
    const [worker, user] = await race.pair();
    await worker.begin();
    await complete(worker, holder);
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await worker.rollback();
    expect(await waiting.answer).toEqual(conflict(holder.id, "running"));
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });

  test("names the holder as it is after the claim that it waited for", async () => {
    const id = await queued(race, { key: "k" });
    const [worker, user] = await race.pair();
    await worker.begin();
    await claim(worker);
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await worker.commit();
    expect(await waiting.answer).toEqual(conflict(id, "running"));
  });

  test("names the holder as it is after the release that it waited for", async () => {
    const holder = await running(race, { key: "k" });
    const [worker, user] = await race.pair();
    await worker.begin();
    await release(worker, holder);
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await worker.commit();
    expect(await waiting.answer).toEqual(conflict(holder.id, "queued"));
    expect(await race.stories()).toEqual(["k queued 0/5 g1 r1 | released"]);
  });

  test("S13: conflicts while the holder runs, and succeeds when it has completed", async () => {
    const holder = await running(race, { key: "k" });
    expect(await enqueue(race, { key: "k" })).toEqual(conflict(holder.id, "running"));
    expect(await complete(race, holder)).toBe(true);
    expect(await enqueue(race, { key: "k" })).toEqual(created);
    expect(await race.stories()).toHaveLength(2);
  });
});

describe("an enqueue whose key is held by an orphan", () => {
  test("answers created when somebody else's reap ends the orphan", async () => {
    await expired(race, { key: "k", max_attempts: 1 });
    const [reaper, user] = await race.pair();
    await reaper.begin();
    expect(await call(reaper, "reap")).toBe(1);
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await reaper.commit();
    expect(await waiting.answer).toEqual(created);
    expect(await race.stories()).toEqual([
      "k failed 1/1 g1 r1 LEASE_EXPIRED | reaped",
      "k queued 0/5 g0 r1",
    ]);
  });

  test("reaps the orphan itself when somebody else's reap rolls back", async () => {
    await expired(race, { key: "k", max_attempts: 1 });
    const [reaper, user] = await race.pair();
    await reaper.begin();
    expect(await call(reaper, "reap")).toBe(1);
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await reaper.rollback();
    expect(await waiting.answer).toEqual(created);
    expect(await race.stories()).toEqual([
      "k failed 1/1 g1 r1 LEASE_EXPIRED | reaped",
      "k queued 0/5 g0 r1",
    ]);
  });

  test("answers conflict when somebody else's reap puts the orphan back into the queue", async () => {
    const orphan = await expired(race, { key: "k" });
    const [reaper, user] = await race.pair();
    await reaper.begin();
    expect(await call(reaper, "reap")).toBe(1);
    const waiting = await race.blocked(user, (on) => enqueue(on, { key: "k" }));
    await reaper.commit();
    expect(await waiting.answer).toEqual(conflict(orphan.id, "queued"));
    expect(await race.stories()).toEqual(["k queued 1/5 g1 r1 LEASE_EXPIRED | reaped"]);
  });

  test("answers conflict, and waits for nobody, when the orphan is locked", async () => {
    const orphan = await expired(race, { key: "k", max_attempts: 1 });
    const [worker, user] = [await race.session(), await race.impatient()];
    await worker.begin();
    await guard(worker, orphan);
    expect(await enqueue(user, { key: "k" })).toEqual(conflict(orphan.id, "running"));
    await worker.commit();
    expect(await race.stories()).toEqual(["k running 1/1 g1 r1"]);
    expect(await enqueue(user, { key: "k" })).toEqual(created);
  });

  test.each(["commit", "rollback"] as const)(
    "is one of two, of which exactly one is created: the first's %s decides",
    async (end) => {
      const orphan = await expired(race, { key: "k", max_attempts: 1 });
      const [first, second] = await race.pair();
      await first.begin();
      const mine = await enqueue(first, { key: "k" });
      expect(mine).toEqual(created);
      const waiting = await race.blocked(second, (on) => enqueue(on, { key: "k" }));
      await first[end]();
      const expected = end === "commit" ? conflict(mine.id, "queued") : created;
      expect(await waiting.answer).toEqual(expected);
      expect(await race.story(orphan.id)).toBe("k failed 1/1 g1 r1 LEASE_EXPIRED | reaped");
      expect(await race.stories()).toHaveLength(2);
    },
  );

  test("is one of two at once, round after round, of which one is created", async () => {
    const sessions = await race.sessions(2);
    for (let round = 0; round < 50; round++) {
      const key = `k${round}`;
      const orphan = await expired(race, { key, max_attempts: 1 });
      const answers = await Promise.all(sessions.map((on) => enqueue(on, { key })));
      expect(answers.map(({ outcome }) => outcome).sort()).toEqual(["conflict", "created"]);
      expect(await race.story(orphan.id)).toBe(`${key} failed 1/1 g1 r1 LEASE_EXPIRED | reaped`);
    }
    expect(await race.stories()).toHaveLength(100);
  });
});
