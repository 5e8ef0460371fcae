import { describe, expect, test } from "vitest";
import { claim, claimJob, complete, enqueueMany, queued } from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const keysOf = (jobs: Record<string, unknown>[]) => jobs.map(({ key }) => key);
const jobs = (count: number, job: (index: number) => Record<string, unknown> = () => ({})) =>
  Array.from({ length: count }, (_, index) => ({ key: String(index), ...job(index) }));

describe("a claim beside another that has not committed", () => {
  test("takes the next jobs in order, and waits for nobody", async () => {
    await enqueueMany(race, jobs(6));
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    expect(keysOf(await claim(first, 2))).toEqual(["0", "1"]);
    expect(keysOf(await claim(second, 2))).toEqual(["2", "3"]);
    await first.commit();
    expect(keysOf(await claim(second, 10))).toEqual(["4", "5"]);
    expect(await race.stories()).toEqual(jobs(6).map(({ key }) => `${key} running 1/5 g1 r1`));
  });

  test("leaves what the other gives back by its rollback to the next claim", async () => {
    await enqueueMany(race, jobs(3));
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    expect(keysOf(await claim(first, 2))).toEqual(["0", "1"]);
    expect(keysOf(await claim(second, 10))).toEqual(["2"]);
    await first.rollback();
    expect(keysOf(await claim(second, 10))).toEqual(["0", "1"]);
    expect(await race.stories()).toEqual(jobs(3).map(({ key }) => `${key} running 1/5 g1 r1`));
  });

  test("finds every job of all its kinds that the other does not hold", async () => {
    await enqueueMany(
      race,
      jobs(30, (index) => ({ kind: `kind${index % 3}` })),
    );
    const [first, second] = [await race.session(), await race.impatient()];
    const kinds = ["kind0", "kind1", "kind2"];
    await first.begin();
    expect(keysOf(await claim(first, 8, { kinds }))).toEqual(keysOf(jobs(8)));
    // The same page of heads, all held: it has to turn to the next pages.
    expect(keysOf(await claim(second, 8, { kinds }))).toEqual(keysOf(jobs(16).slice(8)));
    expect(await claim(second, 30, { kinds: ["kind1"] })).toHaveLength(5);
    expect(await claim(second, 30, { kinds })).toHaveLength(9);
    await first.commit();
    expect(await claim(second, 30, { kinds })).toEqual([]);
  });

  test("goes on to the next priority where the other holds the better one", async () => {
    await enqueueMany(
      race,
      jobs(12, (index) => ({ priority: index % 3 })),
    );
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    expect(keysOf(await claim(first, 5))).toEqual(["0", "3", "6", "9", "1"]);
    expect(keysOf(await claim(second, 5))).toEqual(["4", "7", "10", "2", "5"]);
    await first.rollback();
    expect(keysOf(await claim(second, 12))).toEqual(["0", "3", "6", "9", "1", "8", "11"]);
  });

  test("fills up from later pages when a rival takes its page under its nose", async () => {
    const kinds = ["kind0", "kind1"];
    await enqueueMany(
      race,
      jobs(20, (index) => ({ kind: `kind${index % 2}` })),
    );
    const [rival, claimer] = await race.pair();
    // Reading goes on under this lock, row locks do not: it stops a claim between the two.
    await rival.begin();
    await rival.query("lock table leasehold.jobs in exclusive mode");
    const waiting = await race.blocked(claimer, (on) => claim(on, 6, { kinds }));
    expect(keysOf(await claim(rival, 4, { kinds }))).toEqual(["0", "1", "2", "3"]);
    await rival.commit();
    expect(keysOf(await waiting.answer)).toEqual(["4", "5", "6", "7", "8", "9"]);
    expect(await race.value("select max(generation) from leasehold.jobs")).toBe(1);
  });
});

describe("claim_job", () => {
  test("answers nothing, and waits for nobody, where a claim holds the job", async () => {
    const id = await queued(race, { key: "k" });
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    expect(await claim(first)).toHaveLength(1);
    expect(await claimJob(second, id)).toEqual([]);
    await first.commit();
    expect(await claimJob(second, id)).toEqual([]);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });

  test("takes the job when that claim rolled back", async () => {
    const id = await queued(race, { key: "k" });
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    await claim(first);
    await first.rollback();
    expect(await claimJob(second, id)).toMatchObject([{ id, generation: 1 }]);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });

  test("hides its job from a claim and from another claim_job", async () => {
    const id = await queued(race, { key: "a" });
    await queued(race, { key: "b" });
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    expect(await claimJob(first, id)).toMatchObject([{ id, generation: 1 }]);
    expect(await claimJob(second, id)).toEqual([]);
    expect(keysOf(await claim(second, 10))).toEqual(["b"]);
    await first.commit();
    expect(await race.stories()).toEqual(["a running 1/5 g1 r1", "b running 1/5 g1 r1"]);
  });

  test("takes no job past its start_by that another only just let go", async () => {
    const id = await queued(race, { key: "k", start_within_ms: 1 });
    const [holder, gate] = await race.pair();
    const claimer = await race.session();
    await holder.begin();
    await holder.query("select from leasehold.jobs where id = $1 for no key update", [id]);
    // It skips the locked row when it reaps, and stops before it looks for the job.
    await gate.begin();
    await gate.query("lock table leasehold.kinds in access exclusive mode");
    const waiting = await race.blocked(claimer, (on) => claimJob(on, id));
    await holder.rollback();
    await gate.rollback();
    expect(await waiting.answer).toEqual([]);
    expect(await claimJob(claimer, id)).toEqual([]);
    expect(await race.stories()).toEqual(["k failed 0/5 g0 r1 NOT_STARTED | reaped"]);
  });
});

test.each([
  { name: "one kind and priority", kinds: 1, priorities: 1 },
  { name: "three kinds and priorities", kinds: 3, priorities: 3 },
])(
  "eight connections claim 1,000 jobs of $name: none twice, none lost",
  async ({ kinds, priorities }) => {
    const names = Array.from({ length: kinds }, (_, index) => `kind${index}`);
    await enqueueMany(
      race,
      jobs(1000, (index) => ({ kind: names[index % kinds], priority: (index * 7) % priorities })),
    );
    const sessions = await race.sessions(8);
    const taken: string[] = [];
    await Promise.all(
      sessions.map(async (on, index) => {
        // Two claimers on each connection by turns: one takes few jobs, the other many.
        for (let turn = 0; ; turn++) {
          const limit = turn % 2 === 0 ? 1 + index : 20;
          const claimed = await claim(on, limit, { kinds: names });
          expect(claimed.length).toBeLessThanOrEqual(limit);
          taken.push(...claimed.map(({ id, generation }) => `${id} ${generation}`));
          if (claimed.length === 0) break;
          const [last] = claimed;
          if (last) expect(await complete(on, last)).toBe(true);
        }
      }),
    );
    expect(new Set(taken).size).toBe(1000);
    expect(taken).toHaveLength(1000);
    const left = await race.query(
      "select from leasehold.jobs where generation <> 1 or attempts <> 1",
    );
    expect(left).toEqual([]);
  },
);
