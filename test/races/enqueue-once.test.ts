import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { enqueue, enqueueMany, failed, queued } from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const created = { outcome: "created", id: expect.any(String), status: "queued" };
const duplicate = (id: string) => ({ outcome: "duplicate", id, status: "queued" });

/** The names and the jobs that they stand for. */
const names = async () =>
  Object.fromEntries(
    (await race.query("select once, job_id from leasehold.once order by once")).map((row) => [
      row.once,
      row.job_id,
    ]),
  );

describe("an enqueue under a name that another transaction is just giving", () => {
  test("answers duplicate with the other's job when the other commits", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    const { id } = await enqueue(first, { once: "a" });
    const waiting = await race.blocked(second, (on) => enqueue(on, { once: "a" }));
    await first.commit();
    expect(await waiting.answer).toEqual(duplicate(id));
    expect(await race.stories()).toEqual(["- queued 0/5 g0 r1"]);
    expect(await names()).toEqual({ a: id });
  });

  test("answers created when the other rolls back", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    await enqueue(first, { once: "a" });
    const waiting = await race.blocked(second, (on) => enqueue(on, { once: "a" }));
    await first.rollback();
    const answer = await waiting.answer;
    expect(answer).toEqual(created);
    expect(await race.stories()).toEqual(["- queued 0/5 g0 r1"]);
    expect(await names()).toEqual({ a: answer.id });
  });

  test("answers created when the other met a busy key and gave the name up", async () => {
    await queued(race, { key: "busy" });
    const [first, second] = await race.pair();
    await first.begin();
    expect(await enqueue(first, { once: "a", key: "busy" })).toMatchObject({ outcome: "conflict" });
    const waiting = await race.blocked(second, (on) => enqueue(on, { once: "a", key: "k" }));
    await first.commit();
    const answer = await waiting.answer;
    expect(answer).toEqual(created);
    expect(await race.stories()).toEqual(["busy queued 0/5 g0 r1", "k queued 0/5 g0 r1"]);
    expect(await names()).toEqual({ a: answer.id });
  });

  test("leaves no name behind when it waited and met a busy key", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    const { id } = await enqueue(first, { key: "k" });
    const waiting = await race.blocked(second, (on) => enqueue(on, { once: "a", key: "k" }));
    await first.commit();
    expect(await waiting.answer).toMatchObject({ outcome: "conflict", holder: { id } });
    expect(await names()).toEqual({});
  });

  test("does not wait for a name of another owner", async () => {
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    await enqueue(first, { once: "a", owner: "ann" });
    expect(await enqueue(second, { once: "a", owner: "bob" })).toEqual(created);
    expect(await enqueue(second, { once: "a" })).toEqual(created);
    await first.commit();
    expect(await race.stories()).toHaveLength(3);
  });

  test("S20: five instances fill ten slots at once, and each slot has one job", async () => {
    const sessions = await race.sessions(5);
    const slots = Array.from({ length: 10 }, (_, index) => `report 12:0${index}`);
    const outcomes: string[] = [];
    await Promise.all(
      sessions.map(async (on) => {
        for (const once of slots) outcomes.push((await enqueue(on, { once })).outcome);
      }),
    );
    expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === "duplicate")).toHaveLength(40);
    expect(await race.stories()).toEqual(Array(10).fill("- queued 0/5 g0 r1"));
  });
});

describe("an enqueue under a name whose time is over", () => {
  const expire = () => ageAll(race.db, "once", 1000);

  test.each(["commit", "rollback"] as const)(
    "is one of two, of which one is created: the first's %s decides",
    async (end) => {
      const old = await enqueue(race, { once: "a", once_for_ms: 1 });
      await expire();
      const [first, second] = await race.pair();
      await first.begin();
      const mine = await enqueue(first, { once: "a" });
      expect(mine).toEqual(created);
      const waiting = await race.blocked(second, (on) => enqueue(on, { once: "a" }));
      await first[end]();
      const answer = await waiting.answer;
      expect(answer).toEqual(end === "commit" ? duplicate(mine.id) : created);
      expect(answer.id).not.toBe(old.id);
      expect(await names()).toEqual({ a: answer.id });
      expect(await race.stories()).toHaveLength(2);
    },
  );

  test("answers created when the other gave the expired name up and deleted it", async () => {
    await enqueue(race, { once: "a", once_for_ms: 1 });
    await expire();
    await queued(race, { key: "busy" });
    const [first, second] = await race.pair();
    await first.begin();
    expect(await enqueue(first, { once: "a", key: "busy" })).toMatchObject({ outcome: "conflict" });
    const waiting = await race.blocked(second, (on) => enqueue(on, { once: "a" }));
    await first.commit();
    const answer = await waiting.answer;
    expect(answer).toEqual(created);
    expect(await names()).toEqual({ a: answer.id });
  });

  test("answers created while prune deletes the name, and prune leaves the new one", async () => {
    const old = await enqueue(race, { once: "a", once_for_ms: 1 });
    await expire();
    const [pruner, user] = await race.pair();
    await pruner.begin();
    await pruner.query("select leasehold.prune()");
    const waiting = await race.blocked(user, (on) => enqueue(on, { once: "a" }));
    await pruner.commit();
    const answer = await waiting.answer;
    expect(answer).toEqual(created);
    expect(answer.id).not.toBe(old.id);
    expect(await names()).toEqual({ a: answer.id });
  });

  test("keeps prune away while its transaction is open", async () => {
    await enqueue(race, { once: "a", once_for_ms: 1 });
    await expire();
    const [user, pruner] = [await race.session(), await race.impatient()];
    await user.begin();
    const { id } = await enqueue(user, { once: "a" });
    await pruner.query("select leasehold.prune()");
    await user.commit();
    await pruner.query("select leasehold.prune()");
    expect(await names()).toEqual({ a: id });
  });
});

describe("enqueue_many", () => {
  test("takes its names in their order, whatever the order of the input", async () => {
    const [first, second] = await race.pair();
    const gate = await race.session();
    // The first call holds a and waits at b; the second, given the other way round, may not hold c.
    await gate.begin();
    await enqueue(gate, { once: "b" });
    const up = await race.blocked(first, (on) =>
      enqueueMany(on, [{ once: "a" }, { once: "b" }, { once: "c" }]),
    );
    const down = await race.blocked(second, (on) =>
      enqueueMany(on, [{ once: "c" }, { once: "b" }, { once: "a" }]),
    );
    await gate.rollback();
    const [a, b, c] = await up.answer;
    expect([a, b, c]).toEqual([created, created, created]);
    expect(await down.answer).toEqual([duplicate(c.id), duplicate(b.id), duplicate(a.id)]);
    expect(await race.stories()).toHaveLength(3);
    expect(await names()).toEqual({ a: a.id, b: b.id, c: c.id });
  });

  test("keeps that order when a name that it waited for was deleted meanwhile", async () => {
    await enqueueMany(race, [
      { once: "a", once_for_ms: 1 },
      { once: "b", once_for_ms: 1 },
    ]);
    await ageAll(race.db, "once", 1000);
    const [atA, atB] = await race.pair();
    const [first, second] = await race.pair();
    // What an enqueue does that takes the name and then finds its key busy.
    await atA.begin();
    await atA.query("select from leasehold.once where once = 'a' for no key update");
    await atB.begin();
    await enqueue(atB, { once: "b" });
    const one = await race.blocked(first, (on) => enqueueMany(on, [{ once: "a" }, { once: "b" }]));
    await atA.query("delete from leasehold.once where once = 'a'");
    await atA.commit();
    await race.waitsFor(first, atB);
    const two = await race.blocked(second, (on) => enqueueMany(on, [{ once: "b" }, { once: "a" }]));
    await atB.rollback();
    const [a, b] = await one.answer;
    expect([a, b]).toEqual([created, created]);
    expect(await two.answer).toEqual([duplicate(b.id), duplicate(a.id)]);
    expect(await names()).toEqual({ a: a.id, b: b.id });
  });

  test("does not wait for names that were given before", async () => {
    const [{ id }] = await enqueueMany(race, [{ once: "a" }]);
    const [holder, user] = [await race.session(), await race.impatient()];
    await holder.begin();
    expect(await enqueueMany(holder, [{ once: "a" }])).toEqual([duplicate(id)]);
    expect(await enqueueMany(user, [{ once: "a" }, {}])).toEqual([duplicate(id), created]);
    await holder.commit();
  });

  test("names a duplicate's job though that job was retried meanwhile", async () => {
    const id = await failed(race, { once: "a" });
    const [operator, user] = [await race.session(), await race.impatient()];
    await operator.begin();
    await operator.query("select leasehold.retry($1)", [id]);
    expect(await enqueue(user, { once: "a" })).toEqual({ ...duplicate(id), status: "failed" });
    await operator.commit();
    expect(await enqueue(user, { once: "a" })).toEqual(duplicate(id));
  });
});
