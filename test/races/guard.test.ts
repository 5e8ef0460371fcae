import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Queryable } from "../support/databases.ts";
import {
  call,
  claim,
  claimJob,
  complete,
  enqueue,
  expired,
  extend,
  fail,
  finishMany,
  guard,
  queued,
  running,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

async function claimOne(on: Pick<Queryable, "query" | "value">, leaseMs: number | null = null) {
  const [job] = await claim(on, 1, { leaseMs });
  if (job === undefined) throw new Error("There was nothing to claim");
  return job;
}

const lost = expect.objectContaining({ code: "LH001" });

const tableOfTheUsers = () =>
  race.query("create table if not exists letters (job uuid); truncate letters");

describe("guard in the user's open transaction", () => {
  test("keeps reapers and claimers away; extend answers busy, and not for another job", async () => {
    const job = await expired(race, { key: "k" });
    const other = await running(race, { key: "other" });
    const [user, rival] = [await race.session(), await race.impatient()];
    await user.begin();
    await guard(user, job);
    expect(await call(rival, "reap")).toBe(0);
    expect(await call(rival, "status", job.id)).toMatchObject({ status: "running" });
    expect(await claim(rival, 10)).toEqual([]);
    expect(await claimJob(rival, job.id)).toEqual([]);
    expect(await extend(rival, job)).toMatchObject({ held: true, busy: true });
    expect(await extend(rival, other)).toMatchObject({ held: true, busy: false });
    expect(await finishMany(rival, [job, other])).toEqual({
      done: [{ id: other.id, status: "completed" }],
      refused: [],
      busy: [job.id],
    });
    await user.commit();
    expect(await claim(rival, 10)).toMatchObject([{ id: job.id, generation: 2 }]);
    expect(await race.stories()).toEqual([
      "k running 2/5 g2 r1 LEASE_EXPIRED | reaped",
      "other completed 1/5 g1 r1",
    ]);
  });

  test("lets the completion in the same transaction through, with the user's writes", async () => {
    await tableOfTheUsers();
    const job = await expired(race, { key: "k" });
    const [user, reaper] = [await race.session(), await race.impatient()];
    await user.begin();
    await guard(user, job);
    await user.query("insert into letters values ($1)", [job.id]);
    expect(await complete(user, job)).toBe(true);
    expect(await call(reaper, "reap")).toBe(0);
    await user.commit();
    expect(await race.value("select count(*) from letters")).toBe(1);
    expect(await race.stories()).toEqual(["k completed 1/5 g1 r1 result=done"]);
  });

  test("fails the transaction of a claim that is lost, and none of its writes stays", async () => {
    await tableOfTheUsers();
    const stale = await expired(race, { key: "k" });
    await claim(race);
    const user = await race.session();
    await user.begin();
    await user.query("insert into letters values ($1)", [stale.id]);
    await expect(guard(user, stale)).rejects.toEqual(lost);
    await user.commit();
    expect(await race.value("select count(*) from letters")).toBe(0);
    expect(await race.stories()).toEqual(["k running 2/5 g2 r1 LEASE_EXPIRED | reaped"]);
  });

  test.each(["commit", "rollback"] as const)(
    "waits for a reap, and decides after its %s",
    async (end) => {
      const job = await expired(race, { key: "k" });
      const [reaper, user] = await race.pair();
      await reaper.begin();
      await call(reaper, "reap");
      await user.begin();
      const waiting = await race.blocked(user, (on) => guard(on, job));
      await reaper[end]();
      if (end === "commit") {
        await expect(waiting.answer).rejects.toEqual(lost);
      } else {
        await waiting.answer;
        expect(await complete(user, job)).toBe(true);
      }
      await user.commit();
      expect(await race.stories()).toEqual([
        end === "commit"
          ? "k queued 1/5 g1 r1 LEASE_EXPIRED | reaped"
          : "k completed 1/5 g1 r1 result=done",
      ]);
    },
  );

  test("makes a second guard of the same claim wait, for two transactions are not one", async () => {
    const job = await running(race, { key: "k" });
    const [first, second] = await race.pair();
    await first.begin();
    await guard(first, job);
    const waiting = await race.blocked(second, (on) => guard(on, job));
    expect(await complete(first, job)).toBe(true);
    await first.commit();
    await expect(waiting.answer).rejects.toEqual(lost);
  });

  test("makes a cancel wait, which then finds the job finished", async () => {
    const job = await running(race, { key: "k" });
    const [user, other] = await race.pair();
    await user.begin();
    await guard(user, job);
    const waiting = await race.blocked(other, (on) => call(on, "cancel", job.id));
    expect(await complete(user, job)).toBe(true);
    await user.commit();
    expect(await waiting.answer).toEqual({ outcome: "finished", status: "completed" });
  });

  test("loses its lock within the lease when its holder freezes", async () => {
    await tableOfTheUsers();
    await enqueue(race, { key: "k" });
    const job = await claimOne(race, 300);
    const [frozen, rival] = await race.pair();
    await frozen.begin();
    await guard(frozen, job);
    await frozen.query("insert into letters values ($1)", [job.id]);
    const begun = performance.now();
    await race.until("select not exists (select from pg_stat_activity where pid = $1)", [
      frozen.pid,
    ]);
    expect(performance.now() - begun).toBeLessThan(5_000);
    await expect(frozen.commit()).rejects.toThrow();
    expect(await claim(rival)).toMatchObject([{ id: job.id, generation: 2 }]);
    expect(await race.value("select count(*) from letters")).toBe(0);
    expect(await race.stories()).toEqual(["k running 2/5 g2 r1 LEASE_EXPIRED | reaped"]);
  });

  test("leaves a shorter timeout of the user's, and none behind for the next transaction", async () => {
    const job = await running(race, { key: "k" });
    const user = await race.session();
    const timeout = () => user.value("show idle_in_transaction_session_timeout");
    await user.begin();
    await guard(user, job);
    expect(await timeout()).toBe("5min");
    await user.commit();
    expect(await timeout()).toBe("0");
    await user.query("set idle_in_transaction_session_timeout = '20s'");
    await user.begin();
    await guard(user, job);
    expect(await timeout()).toBe("20s");
    await user.commit();
  });

  test("shows a lost race as 40001, not as silence, under REPEATABLE READ", async () => {
    await tableOfTheUsers();
    const stale = await expired(race, { key: "k" });
    const user = await race.session();
    await user.query("begin isolation level repeatable read");
    await user.query("insert into letters values ($1)", [stale.id]);
    await claim(race);
    await expect(guard(user, stale)).rejects.toMatchObject({ code: "40001" });
    await user.commit();
    expect(await race.value("select count(*) from letters")).toBe(0);
  });

  test("shows a race lost while it waits as 40001 under REPEATABLE READ", async () => {
    const job = await expired(race, { key: "k" });
    const [reaper, user] = await race.pair();
    await user.query("begin isolation level repeatable read");
    await user.query("select 1 from leasehold.jobs");
    await reaper.begin();
    await call(reaper, "reap");
    const waiting = await race.blocked(user, (on) => guard(on, job));
    await reaper.commit();
    await expect(waiting.answer).rejects.toMatchObject({ code: "40001" });
    await user.rollback();
  });
});

describe("a user's open transaction that references a job by a foreign key", () => {
  beforeEach(() =>
    race.query("create table invoices (job uuid references leasehold.jobs (id) on delete cascade)"),
  );
  // After a failure somebody may still hold it.
  afterEach(() =>
    race.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%';
      drop table invoices`),
  );

  test("hides the job from nobody: it is claimed, extended, completed and claimed again", async () => {
    const id = await queued(race, { key: "k" });
    const [user, worker] = [await race.session(), await race.impatient()];
    await user.begin();
    await user.query("insert into invoices values ($1)", [id]);
    const first = await claimOne(worker);
    expect(first).toMatchObject({ id, generation: 1 });
    expect(await extend(worker, first)).toMatchObject({ held: true, busy: false });
    expect(await fail(worker, first)).toBe("queued");
    const [second = first] = await claimJob(worker, id);
    expect(second).toMatchObject({ id, generation: 2 });
    await guard(worker, second);
    expect(await complete(worker, second)).toBe(true);
    // Deleting it would pull it from under the reference: prune leaves it meanwhile.
    expect(await call(worker, "prune", { older_than_ms: 0 })).toEqual({ deleted: 0 });
    await user.rollback();
    expect(await call(worker, "prune", { older_than_ms: 0 })).toEqual({ deleted: 1 });
  });

  test("is not hindered by the claim, whichever comes first", async () => {
    const id = await queued(race, { key: "k" });
    const [worker, user] = [await race.session(), await race.impatient()];
    await worker.begin();
    const job = await claimOne(worker);
    await user.query("insert into invoices values ($1)", [id]);
    expect(await complete(worker, job)).toBe(true);
    await worker.commit();
    expect(await race.stories()).toEqual(["k completed 1/5 g1 r1 result=done"]);
  });
});
