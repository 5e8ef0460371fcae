import { describe, expect, test } from "vitest";
import {
  claim,
  complete,
  enqueue,
  enqueueMany,
  expired,
  queued,
  running,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";
import { pick, seeded, shuffled } from "./support/random.ts";

const race = openRace();

const created = { outcome: "created", id: expect.any(String), status: "queued" };
const conflict = (id: string, status = "queued") => ({
  outcome: "conflict",
  id: null,
  status: null,
  holder: { id, status },
});
const keys = (...names: string[]) => names.map((key) => ({ key }));

describe("enqueue_many", () => {
  test("takes its keys in their order, whatever the order of the input", async () => {
    const [first, second] = await race.pair();
    const gate = await race.session();
    await gate.begin();
    await enqueue(gate, { key: "b" });
    const up = await race.blocked(first, (on) => enqueueMany(on, keys("a", "b", "c")));
    const down = await race.blocked(second, (on) => enqueueMany(on, keys("c", "b", "a")));
    await gate.rollback();
    const [a, b, c] = await up.answer;
    expect([a, b, c]).toEqual([created, created, created]);
    expect(await down.answer).toEqual([conflict(c.id), conflict(b.id), conflict(a.id)]);
    expect(await race.stories()).toHaveLength(3);
  });

  test("locks the holders that it replaces in the order of their keys", async () => {
    const [a, b, c] = await enqueueMany(race, keys("a", "b", "c"));
    const [first, second] = await race.pair();
    const gate = await race.session();
    const replace = (...names: string[]) =>
      keys(...names).map((job) => ({ ...job, on_conflict: "replace" }));
    const replaced = ({ id }: { id: string }) => ({ outcome: "replaced", id, status: "queued" });
    await gate.begin();
    await gate.query("select from leasehold.jobs where id = $1 for no key update", [b.id]);
    const up = await race.blocked(first, (on) => enqueueMany(on, replace("a", "b", "c")));
    const down = await race.blocked(second, (on) => enqueueMany(on, replace("c", "b", "a")));
    await gate.rollback();
    expect(await up.answer).toEqual([a, b, c].map(replaced));
    expect(await down.answer).toEqual([c, b, a].map(replaced));
    expect(await race.stories()).toEqual(
      ["a", "b", "c"].map((key) => `${key} queued 0/5 g0 r1 | replaced, replaced`),
    );
  });

  test("keeps the order of keys also where a name is given twice", async () => {
    await enqueue(race, { key: "b" });
    const [twice, plain] = await race.pair();
    const gate = await race.session();
    await gate.begin();
    await enqueue(gate, { key: "bb" });
    // Has a, waits for bb, and will want c.
    const up = await race.blocked(plain, (on) => enqueueMany(on, keys("a", "bb", "c")));
    // Waits for a before it has anything that the other one wants.
    const down = await race.blocked(twice, (on) =>
      enqueueMany(on, [{ key: "b", once: "o" }, { key: "a", once: "o" }, { key: "c" }]),
    );
    await gate.rollback();
    const [a, , c] = await up.answer;
    expect(await down.answer).toEqual([expect.anything(), conflict(a.id), conflict(c.id)]);
    expect(await race.stories()).toHaveLength(4);
  });

  test("S15: answers for each job when a rival takes one of its keys", async () => {
    const [rival, user] = await race.pair();
    await rival.begin();
    const { id } = await enqueue(rival, { key: "k2" });
    const waiting = await race.blocked(user, (on) => enqueueMany(on, keys("k1", "k2", "k3", "k3")));
    await rival.commit();
    const answers = await waiting.answer;
    expect(answers).toEqual([created, conflict(id), created, conflict(answers[2].id)]);
    expect(await race.stories()).toHaveLength(3);
  });

  test("S15: creates them all when the rival rolls back", async () => {
    const [rival, user] = await race.pair();
    await rival.begin();
    await enqueue(rival, { key: "k2" });
    const waiting = await race.blocked(user, (on) => enqueueMany(on, keys("k1", "k2", "k3", "k3")));
    await rival.rollback();
    const answers = await waiting.answer;
    expect(answers).toEqual([created, created, created, conflict(answers[2].id)]);
    expect(await race.stories()).toHaveLength(3);
  });

  test("reaps the orphans of its keys, and waits for none that is locked", async () => {
    const a = await expired(race, { key: "a", max_attempts: 1 });
    const b = await expired(race, { key: "b", max_attempts: 1 });
    const [worker, user] = [await race.session(), await race.impatient()];
    await worker.begin();
    await worker.query("select from leasehold.jobs where id = $1 for no key update", [b.id]);
    expect(await enqueueMany(user, keys("b", "a"))).toEqual([conflict(b.id, "running"), created]);
    await worker.rollback();
    expect(await race.story(a.id)).toBe("a failed 1/1 g1 r1 LEASE_EXPIRED | reaped");
    expect(await race.story(b.id)).toBe("b running 1/1 g1 r1");
  });

  test("creates a job whose key's holder completes meanwhile", async () => {
    const holder = await running(race, { key: "b" });
    const other = await queued(race, { key: "c" });
    const [worker, user] = await race.pair();
    await worker.begin();
    await complete(worker, holder);
    const waiting = await race.blocked(user, (on) => enqueueMany(on, keys("c", "b", "a")));
    await worker.commit();
    expect(await waiting.answer).toEqual([conflict(other), created, created]);
  });
});

/** What one of four rivals asks for in one round: half the keys, and half the names, in any order. */
function bulk(random: () => number): Record<string, unknown>[] {
  const names = shuffled(random, ["n0", "n1", "n2", "n3", "n4", "n5"]);
  return shuffled(random, ["a", "b", "c", "d", "e", "f", "g", "h"])
    .slice(0, 6)
    .map((key) => ({
      kind: pick(random, ["mail", "sms"]),
      key,
      on_conflict: pick(random, ["conflict", "replace", "rerun"]),
      ...(random() < 0.3 && { once: names.pop(), once_for_ms: pick(random, [1, 60_000]) }),
    }));
}

test("200 rounds of overlapping bulk calls from 4 connections never deadlock and add up", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seeded(seed);
  const sessions = await race.sessions(4);
  const totals: Record<string, number> = {};
  for (let round = 0; round < 200; round++) {
    const asked = sessions.map(() => bulk(random));
    const answered = await Promise.allSettled(
      sessions.map((on, index) => enqueueMany(on, asked[index] ?? [])),
    );
    for (const [index, answer] of answered.entries()) {
      if (answer.status === "rejected") {
        throw new Error(`seed ${seed}, round ${round}`, { cause: answer.reason });
      }
      expect(answer.value).toHaveLength(asked[index]?.length ?? 0);
      for (const { outcome } of answer.value) totals[outcome] = (totals[outcome] ?? 0) + 1;
    }
    // Some of them run on into the next rounds, some end.
    const [session] = sessions;
    if (session === undefined) continue;
    for (const claimed of await claim(session, 4, { kinds: ["mail", "sms"] })) {
      if (random() < 0.7) expect(await complete(session, claimed)).toBe(true);
    }
  }
  expect(await counted(), `seed ${seed}`).toEqual({
    jobs: totals.created,
    replaced: totals.replaced,
    asked: 200 * 4 * 6,
    ghosts: 0,
  });
  expect(Object.keys(totals).sort()).toEqual([
    "conflict",
    "created",
    "duplicate",
    "replaced",
    "rerun",
  ]);

  async function counted() {
    const [counts] = await race.query(`select
      (select count(*) from leasehold.jobs) as jobs,
      (select count(*) from leasehold.job_events where event = 'replaced') as replaced,
      (select count(*) from leasehold.once o
        where not exists (select from leasehold.jobs j where j.id = o.job_id)) as ghosts`);
    return { ...counts, asked: Object.values(totals).reduce((sum, count) => sum + count, 0) };
  }
});
