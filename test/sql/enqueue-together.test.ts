import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { type Calls, type Row, useDatabase } from "./support/calls.ts";

/** One of these JSON texts; mostly one that is good. */
const mostly = (good: string[], odd: string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
const badNames = [
  "0",
  '""',
  '" "',
  '"\\u2003"',
  '"a\\u0007b"',
  '"\\u0085"',
  '["a"]',
  `"${"ä".repeat(251)}"`,
];
const badNumbers = ["null", '"1"', "0.5", "-1", "1e30", "true", "[1]", "{}", "1.0", "1e2"];

/** The members of one job, as JSON text: what is good, odd but good, and bad. */
const members = {
  kind: mostly(
    ['"k"', '"b"'],
    ['"leasehold.x"', '"leasehold"', '"k\\n"', '"é k"', `"${"k".repeat(101)}"`],
  ),
  payload: fc.constantFrom("null", "0", '{"a": [1, "b"]}', "[]"),
  key: mostly(['"a"', '"c"', "null"], badNames),
  busy: mostly(['"held"', '"foreign"', '"running"', '"expired"'], ['"a"']),
  owner: mostly(['"ann"', '"bob"', "null"], badNames),
  priority: mostly(["0", "-32768", "32767"], [...badNumbers, "32768", "-32769"]),
  run_after: mostly(
    ['"2030-01-31T12:00:00Z"', '"2030-02-28 01:02:03.456789+05:45"'],
    [
      "null",
      "0",
      '"2030-02-30T12:00:00Z"',
      '"2030-01-31T12:00:00"',
      '"2030-01-31T25:00Z"',
      '"now"',
    ],
  ),
  delay_ms: mostly(["0", "5000", "315360000000"], [...badNumbers, "315360000001"]),
  start_within_ms: mostly(["1", "60000"], [...badNumbers, "0"]),
  max_attempts: mostly(["1", "7", "32767"], [...badNumbers, "0", "32768"]),
  on_conflict: mostly(['"conflict"', '"replace"', '"rerun"'], ["null", '"skip"', "1"]),
  once: mostly(['"n1"', '"n2"', '"n3"', '"known"', '"over"', "null"], badNames),
  once_for_ms: mostly(["1", "60000"], [...badNumbers, "0"]),
  cost: mostly(["0", "1", "3"], [...badNumbers, "9007199254740992"]),
  account: mostly(['"rich"', '"poor"', '"nobody"'], [...badNames, "null"]),
  external: mostly(["true", "false"], ["null", "0", '"true"']),
  unknown: fc.constant("1"),
};

/** The names of the members that a job has: one shape, so that a good share of the calls is sound. */
const shapes: (keyof typeof members)[][] = [
  [],
  ["payload"],
  ["payload", "priority", "max_attempts", "start_within_ms"],
  ["payload", "run_after", "owner"],
  ["delay_ms", "start_within_ms"],
  ["payload", "key"],
  ["key", "owner", "on_conflict"],
  ["busy", "owner"],
  ["busy", "on_conflict"],
  ["once", "once_for_ms"],
  ["once", "key", "payload"],
  ["once", "busy"],
  ["cost", "account"],
  ["cost", "account", "key", "once"],
  ["external", "key"],
];
const rare: (keyof typeof members)[][] = [
  ["unknown"],
  ["run_after", "delay_ms"],
  ["once_for_ms"],
  ["on_conflict"],
  ["cost"],
  ["cost", "account", "external"],
  ["cost", "account", "key", "on_conflict"],
  ["external", "key", "on_conflict"],
];
const shape = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...shapes) },
  { weight: 1, arbitrary: fc.constantFrom(...rare) },
);
const job = shape.chain((names) =>
  fc.tuple(members.kind, ...names.map((name) => members[name])).map(([kind, ...values]) => {
    const own = names.map((name, i) => `"${name === "busy" ? "key" : name}": ${values[i]}`);
    return `{${[`"kind": ${kind}`, ...own].join(", ")}}`;
  }),
);
const jobs = fc.array(job, { maxLength: 6 }).map((list) => `[${list.join(", ")}]`);

describe.each(backends)("jobs together on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, enqueue, running, age, session } = fixture;

  beforeEach(async () => {
    await call("define_kind", "b", '{"max_attempts": 3, "start_within_ms": 1000}');
    await call("grant_credits", "rich", 1000, "r");
    await call("grant_credits", "poor", 2, "p");
    await enqueue({ key: "held" });
    await enqueue({ key: "foreign", owner: "eve" });
    await running({ key: "running" });
    await age(await running({ key: "expired", max_attempts: 1 }, 1000), 2000);
    await enqueue({ once: "known" });
    await enqueue({ once: "over" });
    await query(
      "update leasehold.once set expires_at = now() - interval '1 s' where once = 'over'",
    );
  });

  /** What a call answers, or refuses, and leaves behind; ids without their random part. */
  async function outcome({ query }: Calls, list: string, together: boolean, now: string) {
    await query("begin");
    try {
      const [answered] = await query(
        "select leasehold._enqueue_many($1::text::jsonb, $2, $3::text::timestamptz)::text as answers",
        [list, together, now],
      );
      const [left] = await query(`select
        (select jsonb_agg(to_jsonb(j) order by j.id) from leasehold.jobs j)::text as jobs,
        (select jsonb_agg(to_jsonb(o) order by o.kind, o.owner, o.once) from leasehold.once o)::text as once,
        (select jsonb_agg(to_jsonb(a) order by a.account) from leasehold.accounts a)::text as accounts,
        (select jsonb_agg(to_jsonb(h) - 'id' order by h.job_id) from leasehold.holds h)::text as holds,
        (select jsonb_agg(to_jsonb(e) - 'id' - 'hold' order by e.job_id, e.kind) from leasehold.entries e)::text as entries,
        (select jsonb_agg(to_jsonb(e) - 'id' order by e.id) from leasehold.job_events e)::text as events`);
      return JSON.parse(withoutRandom(JSON.stringify({ ...answered, ...left }))) as Row;
    } catch (error) {
      return { refused: (error as { code: string }).code } as Row;
    } finally {
      await query("rollback");
    }
  }
  const withoutRandom = (text: string) =>
    text.replace(/([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3})-[0-9a-f]{4}-[0-9a-f]{12}/g, "$1");

  test("come to what they come to one by one, whether good or bad", async () => {
    const seen = { sound: 0, unsound: 0, refused: 0 };
    await session((own) =>
      fc.assert(
        fc.asyncProperty(jobs, async (list) => {
          const now = await own.value("select clock_timestamp()::text");
          const apart = await outcome(own, list, false, now);
          expect(await outcome(own, list, true, now)).toEqual(apart);
          const isSound = await own.value("select sound from leasehold._survey($1::text::jsonb)", [
            list,
          ]);
          seen[isSound ? "sound" : "unsound"]++;
          if (apart.refused !== undefined) seen.refused++;
        }),
        { numRuns: backend === "postgres" ? 250 : 60 },
      ),
    );
    // Each way was walked, and neither compared with nothing.
    expect(
      Object.values(seen).every((times) => times > 5),
      JSON.stringify(seen),
    ).toBe(true);
  });
});
