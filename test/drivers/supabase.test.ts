import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { argumentTypes, type FunctionName } from "../../src/functions.ts";
import { pg } from "../../src/pg/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { supabase } from "../../src/supabase/index.ts";
import { until } from "../drain/support/client.ts";
import { type SupabaseProject, startSupabaseProject } from "../support/supabase-project.ts";

let project: SupabaseProject;
beforeAll(async () => {
  project = await startSupabaseProject();
});
beforeEach(() => project.reset());
afterAll(() => project?.close());

type Answer = Record<string, unknown>;

const enqueueMany = (count: number, kind = "k"): Promise<unknown> => {
  const jobs = Array.from({ length: count }, (_, n) => ({ kind, payload: { n } }));
  return project.database.call("enqueue_many", { p_jobs: jobs });
};

const running = (): Promise<number> =>
  project.value("select count(*)::int from leasehold.jobs where status = 'running'");

describe("supabase()", () => {
  it("takes a client of supabase-js, one of postgrest-js, and whatever has their shape", async () => {
    const client = project.client();
    const shape = {
      schema: (name: string) => ({
        rpc: async (fn: string, args: object) => {
          const { data, error, status } = await client.schema(name).rpc(fn, args);
          return { data, error, status };
        },
      }),
      rpc: async () => undefined,
    };
    for (const each of [client, client.schema("public"), shape]) {
      expect(await supabase(each).call("reap", {})).toBe(0);
    }
  });

  const pool = { query() {}, connect() {} };
  it.each<[string, () => unknown, RegExp]>([
    ["a URL", () => "https://me:hunter2@x.supabase.co", /given a string.*createClient/],
    ["a key", () => "eyJhbGciOiJIUzI1NiJ9.secret", /given a string/],
    ["a pool of node-postgres", () => pool, /given a pool.*pg\(pool\)/],
    ["a query", () => project.client().from("orders"), /given a query.*Pass the client/],
    ["a filtered query", () => project.client().from("orders").select(), /given a query/],
    ["a call", () => project.client().rpc("f"), /given a query/],
    ["a client that nobody awaited", async () => project.client(), /given a promise.*Await/],
    ["a client of long ago", () => ({ rpc() {}, from() {} }), /without schema\(\).*2\.45/],
    ["a database of leasehold's", () => pg("postgres://h/d"), /given another object/],
    ["null", () => null, /given null/],
    ["nothing", () => undefined, /given undefined/],
  ])("refuses %s (LH107), and shows nothing of it", (_name, given, message) => {
    const make = () => supabase(given() as never);
    expect(make).toThrow(expect.objectContaining({ name: "DatabaseError", code: "LH107" }));
    expect(make).toThrow(message);
    expect(make).not.toThrow(/hunter2|secret/);
  });

  it.each([
    [{ timeout: "soon" }, "LH002"],
    [{ timeout: 0 }, "LH002"],
    [{ schema: "" }, "LH002"],
    [{ schma: "x" }, "LH003"],
    ["leasehold", "LH002"],
  ])("refuses the options %j", (options, code) => {
    expect(() => supabase(project.client(), options as never)).toThrow(
      expect.objectContaining({ code }),
    );
  });

  it("has no more than calls, and says so", () => {
    const { schema, rpcOnly, call, ...rest } = project.database;
    expect([schema, rpcOnly, typeof call, rest]).toEqual(["leasehold", true, "function", {}]);
  });
});

describe("a call by rpc", () => {
  it("answers every JSON value of a function whole: text, numbers, null, lists", async () => {
    const { call } = project.database;
    for (const value of ["text", "null", '"', "", 0, -1.5, 1e21, false, null, [], {}, [[null]]]) {
      const filled = (await call("cache_begin", { p_key: "k", p_lease_ms: 1_000 })) as Answer;
      const put = { p_key: "k", p_token: filled.token, p_value: value, p_ttl_ms: 60_000 };
      expect(await call("cache_put", put)).toBe(true);
      const hit = (await call("cache_begin", { p_key: "k", p_lease_ms: 1_000 })) as Answer;
      expect(hit).toMatchObject({ state: "hit", value });
      expect(await call("cache_drop", { p_key: "k" })).toBe(true);
    }
  });

  it("answers text as text, and null for an outcome that nobody recorded", async () => {
    const { call } = project.database;
    await enqueueMany(1);
    const [job] = (await call("claim", { p_kinds: ["k"] })) as Answer[];
    const failed = { p_id: job?.id, p_generation: 1, p_error: { code: "E", message: "m" } };
    expect(await call("fail", failed)).toBe("queued");
    expect(await call("fail", { ...failed, p_generation: 2 })).toBeNull();
  });

  it("answers nothing for the functions that answer nothing, and for no other", async () => {
    const { call } = project.database;
    await enqueueMany(1);
    const [job] = (await call("claim", { p_kinds: ["k"] })) as Answer[];
    expect(await call("guard", { p_id: job?.id, p_generation: job?.generation })).toBeNull();
    expect(await call("worker_echo", { p_token: "t" })).toBeNull();
    const silent = await project.query(
      `select proname as name from pg_proc where pronamespace = 'leasehold'::regnamespace
         and prorettype = 'void'::regtype and not starts_with(proname, '_') order by 1`,
    );
    expect(silent).toEqual([{ name: "guard" }, { name: "worker_echo" }]);
  });

  it("reaches every function with each of its arguments", async () => {
    const names = Object.keys(argumentTypes) as FunctionName[];
    for (const name of names) {
      const args = Object.fromEntries(Object.keys(argumentTypes[name]).map((arg) => [arg, null]));
      // Null is refused by many of them; what counts is that PostgREST finds the function.
      const error = await project.database.call(name, args).then(
        () => undefined,
        (thrown: { code: string }) => thrown.code,
      );
      expect([undefined, "LH001", "LH002"], name).toContain(error);
    }
    expect(project.postgrest.calls).toEqual(names);
  });

  it("claims 100 at most, and the rest by the next claims, so that none is lost to max-rows", async () => {
    await enqueueMany(250);
    const found: string[] = [];
    for (const expected of [100, 100, 50, 0]) {
      const args = { p_kinds: ["k"], p_limit: 10_000 };
      const jobs = (await project.database.call("claim", args)) as { id: string }[];
      expect(jobs).toHaveLength(expected);
      found.push(...jobs.map(({ id }) => id));
    }
    expect(new Set(found).size).toBe(250);
    expect(await running()).toBe(250);
  });

  it("loses what max-rows cuts off where somebody claims by hand", async () => {
    const small = await project.serve({ schemas: ["leasehold"], maxRows: 10 });
    await enqueueMany(20);
    const { data } = await project
      .client()
      .schema("leasehold")
      .rpc("claim", { p_kinds: ["k"], p_limit: 5 });
    expect(data).toHaveLength(5);
    const answer = await fetch(`${small.url}/rpc/claim`, {
      method: "POST",
      headers: { authorization: `Bearer ${small.keys.serviceRole}` },
      body: JSON.stringify({ p_kinds: ["k"], p_limit: 15 }),
    });
    expect(await answer.json()).toHaveLength(10);
    expect(await running()).toBe(20);
  });

  it("carries payloads near 1 MB, odd keys and any text", async () => {
    const { call } = project.database;
    const long = "ü漢👩‍🚀\"\\\n\u2028'$1 %s\t".repeat(40_000).slice(0, 900_000);
    const payload = { long: long.slice(0, 400_000), '"k\\ey" 漢': { "": [null, "\u0001"] } };
    const key = "k/?#[]@!$&'()*+,;=%20 \"\\ 漢 👩‍🚀";
    const made = (await call("enqueue", {
      p_kind: "k",
      p_payload: payload,
      p_options: { key, owner: key },
    })) as Answer;
    const [job] = (await call("claim", { p_kinds: ["k"] })) as Answer[];
    expect(job).toMatchObject({ id: made.id, key, owner: key });
    expect(job?.payload).toEqual(payload);
    const huge = "x".repeat(1_100_000);
    await expect(call("enqueue", { p_kind: "k", p_payload: huge })).rejects.toMatchObject({
      code: "LH004",
    });
  });

  it("says whether the schema is up to date, and can't bring it there", async () => {
    expect(await migrate(project.database)).toMatchObject({ changed: false });
    await project.query("update leasehold.migrations set checksum = 'older'");
    await expect(migrate(project.database)).rejects.toMatchObject({
      code: "LH104",
      message: expect.stringContaining("leasehold migrate"),
    });
    expect(await migrate(pg(project.pool))).toMatchObject({ changed: true });
  });
});

describe("the timeout of a call", () => {
  it("aborts the request", async () => {
    project.postgrest.trouble = () => "hangs";
    const database = supabase(project.client(), { timeout: 50 });
    await expect(database.call("reap", {})).rejects.toThrow(/did not answer within 50 ms/);
    await until(() => project.postgrest.open === 0, "the end of the request");
  });

  it("holds for a client that can't abort", async () => {
    const never = { rpc: () => new Promise<never>(() => undefined) };
    const database = supabase({ ...never, schema: () => never }, { timeout: 20 });
    await expect(database.call("reap", {})).rejects.toThrow(/did not answer within 20 ms/);
  });
});
