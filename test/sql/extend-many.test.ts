import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, type Row, useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("extend_many on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, job, changes, events, span, age, session } = fixture;
  const many = (...claims: object[]) => call("extend_many", json(claims));
  const lost = (id: string) => ({
    ...{ id, held: false, lease_until: null, cancel_requested: false, busy: false },
  });

  test("renews every lease, each by its own length or by the one given", async () => {
    const ids = [await running({}, 60_000), await running({}, 90_000), await running({}, 30_000)];
    await Promise.all(ids.map((id) => age(id, 20_000)));
    const [a, b, c] = ids as [string, string, string];
    const answers: Row[] = await many(
      ...[
        { id: c, generation: 1, lease_ms: 500_000 },
        { id: a, generation: 1 },
      ],
      { id: b, generation: 1, lease_ms: null },
    );
    expect(answers.map(({ id, held, busy }) => [id, held, busy])).toEqual(
      [c, a, b].map((id) => [id, true, false]),
    );
    for (const { id, lease_until } of answers) {
      expect((await job(id)).lease_until).toEqual(new Date(lease_until));
    }
    for (const [id, ms] of [
      [a, 60_000],
      [b, 90_000],
      [c, 500_000],
    ] as const) {
      const left = await span(id, "lease_until - clock_timestamp()");
      expect(left).toBeLessThanOrEqual(ms);
      expect(left).toBeGreaterThan(ms - 15_000);
      expect(await events(id)).toEqual([]);
    }
  });

  test("answers nothing for no claims, and extends nothing else", async () => {
    const [mine, other] = [await running(), await running()];
    expect(await many()).toEqual([]);
    const { changed } = await changes(other, () => many({ id: mine, generation: 1 }));
    expect(changed).toEqual({});
  });

  /** Each case puts a job into a state, and says which claims to ask about. */
  const cases: [string, (id: string) => Promise<unknown>, number[]][] = [
    ["a claim that stands", async () => undefined, [1, 0, 2]],
    ["one whose lease ran out", (id) => age(id, 61_000), [1]],
    ["one past its timeout", (id) => age(id, 3_700_000), [1]],
    ["a cancelled one", (id) => call("cancel", id), [1]],
    ["a reaped one", (id) => age(id, 61_000).then(() => call("reap")), [1]],
    ["one claimed anew", (id) => call("release", id, 1).then(() => rows("claim_job", id)), [1, 2]],
    ["a completed one", (id) => call("complete", id, 1), [1]],
    ["a failed one", (id) => call("fail", id, 1, {}, true), [1]],
  ];
  test.each(cases)("means for %s what extend means", async (_, stage, generations) => {
    const [one, twin] = [await running({}, 60_000), await running({}, 60_000)];
    await stage(one);
    await stage(twin);
    for (const generation of generations) {
      const answer = await call("extend", twin, generation);
      expect(await many({ id: one, generation })).toEqual([
        { id: one, ...answer, lease_until: answer.lease_until && expect.any(String) },
      ]);
      const [row, its] = [await job(one), await job(twin)];
      expect(row).toMatchObject({
        ...{ status: its.status, generation: its.generation, attempts: its.attempts },
        lease_until: its.lease_until && expect.any(Date),
      });
      expect(Math.abs(row.lease_until - its.lease_until)).toBeLessThan(20_000);
      expect(row.lease_until === null || row.lease_until <= row.timeout_at).toBe(true);
      expect(await refusals(one)).toEqual(await refusals(twin));
    }
  });

  const refusals = async (id: string) =>
    (await events(id)).filter(({ event }) => event === "refused");

  test("answers in the order of the input, one job under two generations as well", async () => {
    const [a, b, queued] = [await running(), await running(), await enqueue()];
    await call("release", a, 1);
    await rows("claim_job", a);
    const answers: Row[] = await many(
      ...[a, b, a, unknown, queued, a].map((id, n) => ({ id, generation: n === 2 ? 2 : 1 })),
    );
    expect(answers.map(({ id, held }) => [id, held])).toEqual([
      ...[
        [a, false],
        [b, true],
        [a, true],
      ],
      ...[
        [unknown, false],
        [queued, false],
        [a, false],
      ],
    ]);
    expect(answers[3]).toEqual(lost(unknown));
    const refused = { event: "refused", generation: 1 };
    const detail = { action: "extend", status: "running", generation: 2 };
    expect((await events(a)).slice(1)).toEqual([
      { ...refused, detail },
      { ...refused, detail },
    ]);
    expect(await events(queued)).toMatchObject([{ event: "refused", detail: { generation: 0 } }]);
  });

  test("the same claim twice is answered twice", async () => {
    const id = await running();
    const claim = { id, generation: 1 };
    const [first, second] = await many(claim, claim);
    expect(first).toMatchObject({ id, held: true, busy: false });
    expect(second).toEqual(first);
  });

  const good = { id: unknown, generation: 1 };
  test.each([
    [{}, "LH002", "p_claims is {}"],
    [null, "LH002", "p_claims is null"],
    [[null], "LH002", "a claim is null"],
    [[5], "LH002", "a claim is 5"],
    [[{ ...good, id: "abc" }], "LH002", /^a claim is /],
    [[{ ...good, id: undefined }], "LH002", /^a claim is /],
    [[{ ...good, generation: -1 }], "LH002", /^a claim is /],
    [[{ ...good, generation: 1.5 }], "LH002", /^a claim is /],
    [[{ ...good, generation: undefined }], "LH002", /^a claim is /],
    [[{ ...good, lease_ms: 0 }], "LH002", /^a claim is /],
    [[{ ...good, lease_ms: 0.5 }], "LH002", /^a claim is /],
    [[{ ...good, lease_ms: 2_147_483_648 }], "LH002", /^a claim is /],
    [[{ ...good, progress: 1 }], "LH003", "option progress is not known"],
    [Array(10_001).fill(good), "LH002", "p_claims is an array of 10001"],
  ])("refuses %.60j as a whole, and writes nothing", async (claims, code, message) => {
    const id = await running();
    await age(id, 10_000);
    const first = { id, generation: 1 };
    const given = Array.isArray(claims) && claims.length < 10 ? [first, ...claims] : claims;
    const { changed } = await changes(id, () =>
      expect(call("extend_many", given && json(given))).rejects.toMatchObject({
        code,
        message: typeof message === "string" ? message : expect.stringMatching(message),
        hint: expect.any(String),
      }),
    );
    expect(changed).toEqual({});
  });

  test.runIf(backend === "postgres")(
    "says busy where somebody holds the row, waits for nobody, and renews the others",
    async () => {
      const [held, free] = [await running({}, 60_000), await running({}, 60_000)];
      await Promise.all([age(held, 10_000), age(free, 10_000)]);
      await session(async (own) => {
        await own.query("begin");
        await own.call("guard", held, 1);
        const { answer, changed } = await changes(held, () =>
          many(...[held, free].map((id) => ({ id, generation: 1 })), { id: held, generation: 2 }),
        );
        expect(changed).toEqual({});
        expect(answer).toMatchObject([
          { id: held, held: true, busy: true },
          { id: free, held: true, busy: false },
          { id: held, held: false, busy: false },
        ]);
        expect(new Date(answer[0].lease_until)).toEqual((await job(held)).lease_until);
        expect(await span(free, "lease_until - clock_timestamp()")).toBeGreaterThan(50_000);
        await own.query("commit");
      });
      expect(await many({ id: held, generation: 1 })).toMatchObject([{ held: true, busy: false }]);
    },
  );
});
