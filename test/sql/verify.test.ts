import { beforeEach, describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";
import { tour } from "./support/tour.ts";

const sound = { ok: true, count: 0, violations: [] };
const broken = { code: "X", message: "x" };

/** A hand that sets one column of a job to what no function sets it to, and the rule that sees it. */
const rows: [string, string][] = [
  ["attempts = 7", "counts"],
  ["releases = -1", "counts"],
  ["budget_releases = 2", "counts"],
  ["generation = 0", "claim"],
  ["attempts = 0", "claim"],
  ["lease_until = null", "claim"],
  ["lease_until = timeout_at + interval '1 ms'", "claim"],
  ["timeout_at = null", "claim"],
  ["status = 'completed', finished_at = now()", "claim"],
  ["status = 'completed', finished_at = now(), lease_until = null, rerun = '{}'", "claim"],
  ["status = 'completed', lease_until = null", "end"],
  ["finished_at = now()", "end"],
  ["status = 'failed', finished_at = now(), lease_until = null", "end"],
  ["status = 'queued', lease_until = null, cancel_requested_at = now()", "cancel"],
  ["status = 'queued', lease_until = null, start_within_ms = 5", "start_by"],
];
const constraints = "attempts_within_max lease_while_running finished_at_end".split(" ");

describe.each(backends)("verify on %s", (backend) => {
  const { call, session, running, enqueue } = useDatabase(backend);
  /** What only a hand can do, in a transaction that is rolled back. */
  const brokenBy = (statements: string[], look: () => Promise<void>) =>
    session(async (own) => {
      await own.query("begin");
      for (const statement of statements) await own.query(statement);
      const { ok, count, violations } = await own.call("verify");
      found = violations;
      expect({ ok, count }).toEqual({
        ok: false,
        count: violations.reduce((sum: number, each: { count: number }) => sum + each.count, 0),
      });
      await look();
    });
  let found: { rule: string; count: number; ids: string[] }[] = [];
  beforeEach(() => {
    found = [];
  });
  const dropping = constraints.map(
    (name) => `alter table leasehold.jobs drop constraint jobs_${name}`,
  );

  test("finds nothing after the whole life of a queue, nor in an empty one", async () => {
    expect(await call("verify")).toEqual(sound);
    await session(async (own) => void (await tour(own)));
    expect(await call("verify")).toEqual(sound);
  });
  test.each(rows)("sees a job with %s by the rule %s", async (change, rule) => {
    const id = await running();
    await brokenBy([...dropping, `update leasehold.jobs set ${change}`], async () => {
      expect(found).toEqual([{ rule, count: 1, ids: [id] }]);
    });
  });

  test("sees two unfinished jobs of a key", async () => {
    const ids = [await enqueue({ key: "a" }), await enqueue({ key: "b" })];
    await enqueue({ key: "c" });
    const twins = [
      "drop index leasehold.jobs_unfinished_key",
      "update leasehold.jobs set key = 'a' where key = 'b'",
    ];
    await brokenBy(twins, async () => {
      expect(found).toEqual([{ rule: "key", count: 2, ids: ids.sort() }]);
    });
  });

  test("sees a generation that fell, a claim reaped twice, and steps of no claim", async () => {
    const id = await running({ max_attempts: 1 });
    await call("fail", id, 1, broken, true);
    const event = `insert into leasehold.job_events (job_id, at, event, generation, code)
      values ('${id}', now(), 'reaped', 1, 'TIMEOUT'), ('${id}', now(), 'reaped', 1, 'LEASE_EXPIRED')`;
    const steps = `insert into leasehold.steps values ('${id}', 'late', '1', 2, now()),
      ('00000000-0000-7000-8000-000000000000', 'lost', '1', 1, now())`;
    await brokenBy([event, steps, "update leasehold.jobs set generation = 0"], async () => {
      expect(found).toEqual([
        { rule: "generation", count: 1, ids: [id] },
        { rule: "reaped_twice", count: 1, ids: [id] },
        {
          rule: "steps",
          count: 2,
          ids: ["00000000-0000-7000-8000-000000000000 lost", `${id} late`].sort(),
        },
      ]);
    });
  });

  test("sees an event of no job", async () => {
    const lost = `insert into leasehold.job_events (job_id, at, event)
      values ('00000000-0000-7000-8000-000000000000', now(), 'refused')`;
    await brokenBy([lost, lost], async () => {
      const ids = ["00000000-0000-7000-8000-000000000000"];
      expect(found).toEqual([{ rule: "events", count: 1, ids }]);
    });
  });

  test("a refused write knows of a later claim than there is, and that is sound", async () => {
    const id = await enqueue();
    expect(await call("complete", id, 5)).toBe(false);
    expect(await call("verify")).toEqual(sound);
  });

  test("sees a name that no job was enqueued under", async () => {
    await enqueue({ once: "o" });
    await brokenBy(["update leasehold.once set job_id = null"], async () => {
      expect(found).toEqual([{ rule: "once", count: 1, ids: ["k o"] }]);
    });
  });

  test("sees an ended job whose ledger elsewhere nobody looks into", async () => {
    const id = await running({ external: true });
    await call("fail", id, 1, broken, true);
    expect(await call("verify")).toEqual(sound);
    const gone = "delete from leasehold.jobs where kind = 'leasehold.reconcile'";
    await brokenBy([gone], async () => {
      expect(found).toEqual([{ rule: "external", count: 1, ids: [id] }]);
    });
    await brokenBy(["update leasehold.jobs set money = null where external"], async () => {
      expect(found).toEqual([{ rule: "external", count: 1, ids: [id] }]);
    });
  });

  test("sees what verify_credits sees, with the accounts or the jobs", async () => {
    await call("grant_credits", "ann", 5, "r");
    const id = await running({ cost: 2, account: "ann" });
    const taken = [
      "update leasehold.accounts set available = 4",
      "update leasehold.holds set state = 'captured', ended_at = now()",
    ];
    await brokenBy(taken, async () => {
      expect(found).toEqual([
        { rule: "available", count: 1, ids: ["ann"] },
        { rule: "held", count: 1, ids: ["ann"] },
        { rule: "hold_entries", count: 1, ids: [id] },
        { rule: "job_money", count: 1, ids: [id] },
      ]);
    });
  });

  test("sees rights that were given away, and a function that can be shadowed", async () => {
    const open = [
      "grant execute on function leasehold.claim_job to public",
      "grant select on leasehold.jobs to public",
      "alter table leasehold.steps disable row level security",
      "alter function leasehold.status reset search_path",
    ];
    await brokenBy(open, async () => {
      expect(found).toEqual([
        {
          rule: "rights",
          count: 4,
          ids: [
            "leasehold.claim_job(uuid,integer,text,integer)",
            "leasehold.jobs",
            "leasehold.status(uuid,text)",
            "leasehold.steps",
          ],
        },
      ]);
    });
  });

  test("sees an index that is not valid", async () => {
    const invalid = `update pg_catalog.pg_index set indisvalid = false
      where indexrelid = 'leasehold.jobs_unfinished_key'::regclass`;
    await brokenBy([invalid], async () => {
      expect(found).toEqual([
        { rule: "indexes", count: 1, ids: ["leasehold.jobs_unfinished_key"] },
      ]);
    });
  });

  test("counts all, and names a hundred", async () => {
    await call("enqueue_many", json(Array.from({ length: 150 }, () => ({ kind: "k" }))));
    await brokenBy(["update leasehold.jobs set releases = -1"], async () => {
      expect(found).toMatchObject([{ rule: "counts", count: 150 }]);
      expect(new Set(found[0]?.ids).size).toBe(100);
    });
  });

  test("writes nothing: it runs in a read-only transaction", async () => {
    await enqueue();
    await session(async (own) => {
      await own.query("begin transaction read only");
      expect(await own.call("verify")).toEqual(sound);
    });
  });
});
