import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isAway } from "../../src/away.ts";
import type { Database } from "../../src/database.ts";
import { describeError } from "../../src/describe-error.ts";
import { isRefusal } from "../../src/record.ts";
import { supabase } from "../../src/supabase/index.ts";
import { until } from "../drain/support/client.ts";
import { freePort } from "../support/postgres-server.ts";
import {
  clientOf,
  type SupabaseProject,
  startSupabaseProject,
} from "../support/supabase-project.ts";
import { thrown } from "./thrown.ts";

let project: SupabaseProject;
beforeAll(async () => {
  project = await startSupabaseProject();
});
beforeEach(() => project.reset());
afterAll(() => project?.close());

/** The database over a PostgREST of its own. */
async function served(options: Parameters<SupabaseProject["serve"]>[0]): Promise<Database> {
  const own = await project.serve({ schemas: ["leasehold"], ...options });
  return supabase(clientOf(own, own.keys.serviceRole));
}

describe("a database that is away", () => {
  /** Runs `test` while another transaction holds the key "k" of a job. */
  async function whileKeyIsHeld(test: () => Promise<void>): Promise<void> {
    const holder = await project.pool.connect();
    await holder.query("begin");
    await holder.query(`select leasehold.enqueue('k', '{}', '{"key": "k"}')`);
    try {
      await test();
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  }

  const onKey = { p_kind: "k", p_options: { key: "k" } };

  it("is one that ends a statement after its time (57014)", async () => {
    await project.query("alter role authenticator set statement_timeout = '100ms'");
    const database = await served({});
    await whileKeyIsHeld(async () => {
      const error = await thrown(database.call("enqueue", onKey));
      expect(error).toMatchObject({ code: "57014" });
      expect([isAway(error), isRefusal(error)]).toEqual([true, false]);
    });
    await project.query("alter role authenticator set statement_timeout = '8s'");
  });

  it("is one that PostgREST can't reach (PGRST000)", async () => {
    const database = await served({ url: "postgres://authenticator@127.0.0.1:1/none" });
    const error = await thrown(database.call("reap", {}));
    expect(error).toMatchObject({ code: "PGRST000" });
    expect([isAway(error), isRefusal(error)]).toEqual([true, false]);
  });

  it("is one that PostgREST has no connection for (PGRST003)", async () => {
    const database = await served({ pool: { max: 1, waitMs: 2_000 } });
    await database.call("reap", {}); // it has connected
    await whileKeyIsHeld(async () => {
      const holding = thrown(database.call("enqueue", onKey));
      const blocked = "select count(*)::int from pg_stat_activity where wait_event_type = 'Lock'";
      await until(async () => (await project.value(blocked)) === 1, "its one connection waits");
      const error = await thrown(database.call("reap", {}));
      expect(error).toMatchObject({ code: "PGRST003" });
      expect([isAway(error), isRefusal(error)]).toEqual([true, false]);
      await project.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'",
      );
      expect(isAway(await holding)).toBe(true);
    });
  });

  it("is one to which no request comes through, or from which no answer", async () => {
    const refused = supabase(clientOf({ url: `http://127.0.0.1:${await freePort()}` }, "key"));
    const errors = [await thrown(refused.call("reap", {}))];
    for (const trouble of ["dropped", "answer dropped"] as const) {
      project.postgrest.trouble = () => trouble;
      errors.push(await thrown(project.database.call("reap", {})));
    }
    expect(errors[0]?.code).toBe("ECONNREFUSED");
    for (const error of errors) {
      expect(error.message).toMatch(/^the request to Supabase failed: TypeError: fetch failed$/);
      expect(error.code).toMatch(/^(ECONN|UND_ERR_SOCKET)/);
      expect(error.cause).toMatchObject({ message: "TypeError: fetch failed" });
      expect([isAway(error), isRefusal(error), error.name]).toEqual([true, false, "Error"]);
    }
  });

  const page = `<!DOCTYPE html><html><head><style>${"p{}".repeat(9_000)}</style>
    <title>example.supabase.co | 502: Bad gateway</title></head><body>${"<p>x".repeat(9_000)}`;

  it.each([
    [502, page, /^HTTP 502 in place .*: example\.supabase\.co \| 502: Bad gateway$/, true],
    [
      503,
      "<p>upstream <b>gone</b></p>",
      /^HTTP 503 in place of an answer of PostgREST: upstream gone$/,
      true,
    ],
    [504, "", /^HTTP 504 in place of an answer of PostgREST$/, true],
    [503, '{"message":"name resolution failed"}', /: name resolution failed$/, true],
    [540, '{"code":540,"message":"Project paused"}', /: Project paused$/, true],
    [429, "slow down", /: slow down$/, true],
    [404, page, /^HTTP 404/, false],
    [404, "", /^HTTP 204/, false],
    [403, page, /^HTTP 403/, false],
    [200, page, /^HTTP 200/, false],
  ])("is told by a gateway's %i in a line (%#)", async (status, body, message, away) => {
    project.postgrest.trouble = () => ({ status, body });
    const error = await thrown(project.database.call("status", { p_id: crypto.randomUUID() }));
    expect(error.message).toMatch(message);
    expect(JSON.stringify(describeError(error))).not.toMatch(/<|p\{/);
    expect(error.code).toMatch(/^HTTP_\d{3}$/);
    expect(isAway(error)).toBe(away);
    // A handler may throw it: its job is not to fail for good by a gateway's 404.
    expect("status" in error).toBe(false);
  });

  it("is no reason to take a gateway's list for jobs", async () => {
    project.postgrest.trouble = () => ({ status: 404, body: "", type: "application/json" });
    const error = await thrown(project.database.call("claim", { p_kinds: ["k"] }));
    expect(error.message).toMatch(/^HTTP 204 in place/);
  });

  it("is not what a gateway is that takes no body of that size (LH004)", async () => {
    project.postgrest.trouble = ({ bytes }) =>
      bytes > 1_000 ? { status: 413, body: "<h1>Request Entity Too Large</h1>" } : undefined;
    const args = { p_kind: "k", p_payload: "x".repeat(2_000) };
    const error = await thrown(project.database.call("enqueue", args));
    expect(error).toMatchObject({ code: "LH004", hint: expect.stringContaining("gateway") });
    expect(isAway(error)).toBe(false);
  });

  it("may also be thrown by the client", async () => {
    const throwing = (error: unknown) => {
      const rpc = () => Promise.reject(error);
      return thrown(supabase({ rpc, schema: () => ({ rpc }) }).call("reap", {}));
    };
    const cause = Object.assign(new Error("read"), { code: "ECONNRESET" });
    const broken = await throwing(new TypeError("fetch failed", { cause }));
    expect([isAway(broken), broken.message]).toEqual([
      true,
      "the request to Supabase failed: fetch failed",
    ]);
    expect(isAway(await throwing(undefined))).toBe(true);
    const wrong = await throwing(Object.assign(new Error("m"), { code: "LH002", hint: "h" }));
    expect(wrong).toMatchObject({ name: "InvalidArgumentError", code: "LH002" });
  });
});
