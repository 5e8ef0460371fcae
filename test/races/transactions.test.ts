import { afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  call,
  claim,
  complete,
  enqueue,
  enqueueMany,
  expired,
  fail,
  finishMany,
  running,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

describe("S37: an enqueue in the user's transaction", () => {
  beforeAll(() => race.query("create table orders (id int)"));
  afterEach(() => race.query("truncate orders"));

  test("is seen by nobody before the commit, and then by everybody, once", async () => {
    const [user, other] = [await race.session(), await race.impatient()];
    await user.begin();
    await user.query("insert into orders values (1)");
    const { id } = await enqueue(user, { key: "k" });
    expect(await claim(other)).toEqual([]);
    expect(await call(other, "status", id)).toBeNull();
    expect(await call(other, "has_due_work")).toBe(false);
    await user.commit();
    expect(await call(other, "has_due_work")).toBe(true);
    expect(await claim(other, 10)).toMatchObject([{ id, generation: 1 }]);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });

  test("leaves nothing when the transaction rolls back, and its key and name are free", async () => {
    const [user, other] = [await race.session(), await race.impatient()];
    await user.begin();
    await user.query("insert into orders values (1)");
    await enqueueMany(user, [{ key: "k", once: "o" }, {}]);
    expect(await claim(other)).toEqual([]);
    await user.rollback();
    expect(await race.stories()).toEqual([]);
    expect(await race.value("select count(*) from leasehold.once")).toBe(0);
    expect(await enqueue(other, { key: "k", once: "o" })).toMatchObject({ outcome: "created" });
    expect(await race.value("select count(*) from orders")).toBe(0);
  });

  test("leaves nothing of a call whose savepoint is rolled back", async () => {
    const user = await race.session();
    await user.begin();
    await enqueue(user, { key: "a" });
    await user.query("savepoint before_b");
    await enqueue(user, { key: "b", once: "o" });
    await user.query("rollback to before_b");
    await user.commit();
    expect(await race.stories()).toEqual(["a queued 0/5 g0 r1"]);
    expect(await enqueue(race, { key: "b", once: "o" })).toMatchObject({ outcome: "created" });
  });
});

describe("S39: a crash between a job's row and its companion", () => {
  beforeAll(() =>
    race.query(`create function public.crash() returns trigger language plpgsql as
      $$ begin raise exception 'the companion row can not be written'; end $$`),
  );
  const crash = expect.objectContaining({ message: "the companion row can not be written" });
  const breakTable = (table: string) =>
    race.query(`create trigger crash before insert or update on leasehold.${table}
      for each row execute function public.crash()`);
  const mendTable = (table: string) => race.query(`drop trigger crash on leasehold.${table}`);

  const ends = [
    {
      name: "fail",
      act: (job: { id: string; generation: number }) => fail(race, job, true),
      after: "k failed 1/1 g1 r1 BROKEN | failed",
    },
    {
      name: "finish_many",
      act: (job: { id: string; generation: number }) =>
        finishMany(race, [job], { action: "fail", error: { code: "BROKEN", message: "" } }),
      after: "k failed 1/1 g1 r1 BROKEN | failed",
    },
    {
      name: "status",
      act: ({ id }: { id: string }) => call(race, "status", id),
      after: "k failed 1/1 g1 r1 LEASE_EXPIRED | reaped",
    },
    {
      name: "reap",
      act: () => call(race, "reap"),
      after: "k failed 1/1 g1 r1 LEASE_EXPIRED | reaped",
    },
    {
      name: "claim",
      act: () => claim(race),
      after: "k failed 1/1 g1 r1 LEASE_EXPIRED | reaped",
    },
  ];

  test.each(ends)("$name changes both or neither", async ({ act, after }) => {
    const job = await expired(race, { key: "k", max_attempts: 1 });
    await breakTable("job_events");
    await expect(act(job)).rejects.toEqual(crash);
    await mendTable("job_events");
    expect(await race.stories()).toEqual(["k running 1/1 g1 r1"]);
    await act(job);
    await act(job);
    const [story = ""] = await race.stories();
    // The second time it was refused, which leaves a trace and changes nothing.
    expect(story.replace(", refused fail", "")).toBe(after);
  });

  test("enqueue writes the job and its name, or neither", async () => {
    await breakTable("once");
    await expect(enqueue(race, { key: "k", once: "o" })).rejects.toEqual(crash);
    await mendTable("once");
    expect(await race.stories()).toEqual([]);
    expect(await enqueue(race, { key: "k", once: "o" })).toMatchObject({ outcome: "created" });
    expect(await enqueue(race, { key: "k", once: "o" })).toMatchObject({ outcome: "duplicate" });
  });

  test("a completion that starts the next run writes both or neither", async () => {
    const job = await running(race, { key: "k" });
    await enqueue(race, { key: "k", on_conflict: "rerun" }, "next");
    await breakTable("job_events");
    await expect(complete(race, job)).rejects.toEqual(crash);
    await mendTable("job_events");
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1 rerun=next"]);
    expect(await complete(race, job)).toBe(true);
    expect(await race.stories()).toEqual(["k queued 0/5 g1 r2 | rerun"]);
  });
});
