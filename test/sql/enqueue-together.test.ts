import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { type Calls, type Row, useDatabase } from "./support/calls.ts";

/** JSON texts of a member, those that are good and those that are odd. */
const texts = (good: string[], odd: string[]) => ({ good, odd });
/** One of them; mostly one that is good. */
const mostly = ({ good, odd }: ReturnType<typeof texts>) =>
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

const longContext = `{"a": "${"x".repeat(8_192)}"}`;

/** The members of one job, as JSON text: what is good, odd but good, and bad. */
const values = {
  kind: texts(
    ['"k"', '"b"'],
    ['"leasehold.x"', '"leasehold"', '"k\\n"', '"é k"', `"${"k".repeat(101)}"`],
  ),
  payload: texts(["null", "0", '{"a": [1, "b"]}'], ["[]"]),
  key: texts(['"a"', '"c"', "null"], badNames),
  busy: texts(['"held"', '"foreign"', '"running"', '"expired"'], ['"a"']),
  owner: texts(['"ann"', '"bob"', "null"], badNames),
  priority: texts(["0", "-32768", "32767"], [...badNumbers, "32768", "-32769"]),
  run_after: texts(
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
  delay_ms: texts(["0", "5000", "315360000000"], [...badNumbers, "315360000001"]),
  start_within_ms: texts(["1", "60000"], [...badNumbers, "0"]),
  max_attempts: texts(["1", "7", "32767"], [...badNumbers, "0", "32768"]),
  on_conflict: texts(['"conflict"', '"replace"', '"rerun"'], ["null", '"skip"', "1"]),
  once: texts(['"n1"', '"n2"', '"n3"', '"known"', '"over"', "null"], badNames),
  once_for_ms: texts(["1", "60000"], [...badNumbers, "0"]),
  cost: texts(["0", "1", "3"], [...badNumbers, "9007199254740992"]),
  account: texts(['"rich"', '"poor"', '"nobody"'], [...badNames, "null"]),
  external: texts(["true", "false"], ["null", "0", '"true"']),
  trace_context: texts(
    ['{"traceparent": "00-a-b-01", "tracestate": "x=1"}', "{}"],
    [
      "null",
      "1",
      '"x"',
      "[]",
      '["x"]',
      '{"a": 1}',
      '{"a": null}',
      '{"a": {"b": "c"}}',
      longContext,
    ],
  ),
  unknown: texts(["1"], ["null"]),
};

type Member = keyof typeof values;
const members = Object.fromEntries(
  Object.entries(values).map(([name, each]) => [name, mostly(each)]),
) as Record<Member, fc.Arbitrary<string>>;

/** A job of these members. `busy` is a key that somebody holds. */
const jobOf = (given: Partial<Record<Member, string>>) =>
  `{${Object.entries({ kind: '"k"', ...given })
    .map(([name, value]) => `"${name === "busy" ? "key" : name}": ${value}`)
    .join(", ")}}`;

/** What a member needs beside it, to mean anything. */
const beside: Partial<Record<Member, Partial<Record<Member, string>>>> = {
  on_conflict: { key: '"a"' },
  once_for_ms: { once: '"n1"' },
  cost: { account: '"rich"' },
  account: { cost: "1" },
};

/** A call for each value of each member, for each holder, and for what does not go together. */
const calls: string[] = [
  ...Object.entries(values).flatMap(([name, { good, odd }]) =>
    [...good, ...odd].map((value) => jobOf({ ...beside[name as Member], [name]: value })),
  ),
  ...values.busy.good.flatMap((busy) =>
    [undefined, ...values.on_conflict.good].flatMap((on_conflict) =>
      [{}, { owner: '"eve"' }, { cost: "1", account: '"rich"' }, { once: '"n1"' }].map((more) =>
        jobOf({ busy, ...(on_conflict && { on_conflict }), ...more }),
      ),
    ),
  ),
  ...values.once.good.flatMap((once) =>
    [
      {},
      { owner: '"ann"' },
      { key: '"a"' },
      { busy: '"held"' },
      { cost: "3", account: '"poor"' },
    ].map((more) => jobOf({ once, ...more })),
  ),
  jobOf({ run_after: '"2030-01-31T12:00:00Z"', delay_ms: "5000" }),
  jobOf({ once_for_ms: "60000" }),
  jobOf({ cost: "1" }),
  jobOf({ cost: "1", account: '"rich"', external: "true" }),
  jobOf({ cost: "1", account: '"rich"', key: '"a"', on_conflict: '"rerun"' }),
  jobOf({ external: "true", key: '"a"', on_conflict: '"replace"' }),
  jobOf({ on_conflict: '"replace"' }),
  ...[1, 2].map((cost) =>
    [1, 2, 3].map(() => jobOf({ cost: `${cost}`, account: '"poor"' })).join(", "),
  ),
  [jobOf({ key: '"a"' }), jobOf({ key: '"a"', on_conflict: '"replace"' })].join(", "),
  [jobOf({ once: '"n1"', key: '"c"' }), jobOf({ once: '"n1"', key: '"a"' })].join(", "),
];

/** The names of the members that a job has: one shape, so that a good share of the calls is sound. */
const shapes: Member[][] = [
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
  ["payload", "trace_context"],
];
const rare: Member[][] = [
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
  fc
    .tuple(members.kind, ...names.map((name) => members[name]))
    .map(([kind, ...own]) =>
      jobOf({ kind, ...Object.fromEntries(names.map((name, i) => [name, own[i]])) }),
    ),
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

  const outcome = (own: Calls, list: string, together: boolean, now: string) =>
    outcomeOf(
      own,
      "select leasehold._enqueue_many($1::text::jsonb, $2, $3::text::timestamptz)::text as answers",
      [list, together, now],
    );
  const short =
    "select leasehold._enqueue_straight(j ->> 'kind', j -> 'payload', j - array['kind', 'payload'], $2::text::timestamptz)::text as answers from (select $1::text::jsonb) t (j)";
  const long = `select leasehold._enqueue(leasehold._new_job(j ->> 'kind', j -> 'payload', j - array['kind', 'payload'], k, 0, $2::text::timestamptz),
      j ->> 'on_conflict', j ->> 'once', (j ->> 'once_for_ms')::numeric::bigint, $2::text::timestamptz)::text as answers
    from (select $1::text::jsonb) t (j) left join leasehold.kinds k on k.kind = j ->> 'kind'`;

  /** What a call answers, or refuses, and leaves behind; ids without their random part. */
  async function outcomeOf({ query }: Calls, sql: string, values: unknown[]) {
    await query("begin");
    try {
      const [answered] = await query(sql, values);
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

  test("come to what they come to one by one, for each value of each member", async () => {
    await session(async (own) => {
      for (const list of calls.flatMap((each) => [`[${each}]`, `[${jobOf({})}, ${each}]`])) {
        const now = await own.value("select clock_timestamp()::text");
        const apart = await outcome(own, list, false, now);
        expect(await outcome(own, list, true, now), list).toEqual(apart);
      }
    });
  });

  /** Whether the short way took the job: then to the same end as the long one, and else to nothing. */
  async function takesTheShortWay(own: Calls, each: string): Promise<boolean> {
    const now = await own.value("select clock_timestamp()::text");
    const straight = await outcomeOf(own, short, [each, now]);
    if (straight.answers !== null) {
      expect(straight, each).toEqual(await outcomeOf(own, long, [each, now]));
      return true;
    }
    const nothing = await outcomeOf(own, "select null::text as answers", []);
    expect(straight, each).toEqual(nothing);
    return false;
  }

  test("and one alone, by the short way, to what it comes to by the long one", async () => {
    const bare = ["kind", "payload", "key", "owner", "priority", "max_attempts", "delay_ms"];
    bare.push("trace_context");
    const single = calls.filter((each) => !each.includes("}, {"));
    await session(async (own) => {
      const short: string[] = [];
      const given = single.map((each) =>
        each.includes('"payload"') ? each : each.replace("{", '{"payload": {"a": 1}, '),
      );
      const long = [501, 500].map((length) => `"${"x".repeat(length)}"`);
      const large = [1_048_575, 1_048_574].map((length) => `"${"x".repeat(length)}"`);
      given.push(
        ...long.flatMap((name) => [
          jobOf({ payload: "1", key: name }),
          jobOf({ payload: "1", owner: name }),
        ]),
        ...large.map((payload) => jobOf({ payload })),
        jobOf({ payload: "1", kind: `"${"k".repeat(100)}"` }),
        jobOf({ payload: "1", kind: '"b"', delay_ms: "5000" }),
      );
      for (const each of given) if (await takesTheShortWay(own, each)) short.push(each);
      const members = new Set(short.flatMap((each) => Object.keys(JSON.parse(each))));
      expect([...members].sort()).toEqual([...bare].sort());
      for (const [name, { good }] of Object.entries(values)) {
        if (!bare.includes(name)) continue;
        for (const value of good.filter((each) => each !== "null")) {
          expect(short.join(), name).toContain(`"${name}": ${value}`);
        }
      }
    });
  });

  test("and one alone, whether good or bad", async () => {
    const seen = { short: 0, long: 0 };
    await session((own) =>
      fc.assert(
        fc.asyncProperty(job, async (each) => {
          const given = each.replace("{", '{"payload": 1, ');
          seen[(await takesTheShortWay(own, given)) ? "short" : "long"]++;
        }),
        { numRuns: backend === "postgres" ? 250 : 60 },
      ),
    );
    expect(
      Object.values(seen).every((times) => times > 5),
      JSON.stringify(seen),
    ).toBe(true);
  });

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
