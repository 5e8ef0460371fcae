import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isAway } from "../../src/away.ts";
import { describeError } from "../../src/describe-error.ts";
import { DatabaseError, SchemaError } from "../../src/errors.ts";
import { argumentTypes, type FunctionName } from "../../src/functions.ts";
import { isRefusal } from "../../src/record.ts";
import { supabase } from "../../src/supabase/index.ts";
import {
  clientOf,
  type SupabaseProject,
  startSupabaseProject,
} from "../support/supabase-project.ts";
import { type Thrown, thrown } from "./thrown.ts";

let project: SupabaseProject;
beforeAll(async () => {
  project = await startSupabaseProject();
});
beforeEach(() => project.reset());
afterAll(() => project?.close());

const reap = (key?: string) => thrown(supabase(project.client(key)).call("reap", {}));
/** By a client with the service_role key that sends this token in its place. */
const bearing = (bearer: string) => thrown(signedIn(bearer).call("reap", {}));
const signedIn = (bearer: string) => {
  const headers = { Authorization: `Bearer ${bearer}` };
  return supabase(clientOf(project.postgrest, project.postgrest.keys.serviceRole, headers));
};
const inHours = (hours: number) => Math.floor(Date.now() / 1_000) + hours * 3_600;

describe("the key", () => {
  it.each(["anon", "authenticated"])("of %s is refused by every function (LH111)", async (role) => {
    const { keys, token } = project.postgrest;
    // A user's token goes in place of the key, as of a client on which somebody has signed in.
    const user = signedIn(token({ sub: crypto.randomUUID() }));
    const database = role === "anon" ? supabase(project.client(keys.anon)) : user;
    for (const name of Object.keys(argumentTypes) as FunctionName[]) {
      const args = Object.fromEntries(Object.keys(argumentTypes[name]).map((arg) => [arg, null]));
      const error = await thrown(database.call(name, args));
      expect(error, name).toBeInstanceOf(DatabaseError);
      expect(error, name).toMatchObject({ code: "LH111", cause: { code: "42501" } });
      expect(error.message).toMatch(/may not call .*: permission denied for schema leasehold\./);
      expect(error.hint).toMatch(/service_role key or a secret key.*on the server.*signed in/);
    }
    expect(project.postgrest.calls).toHaveLength(Object.keys(argumentTypes).length);
  });

  it("is refused by its function, too, where the schema may be used", async () => {
    await project.query("grant usage on schema leasehold to authenticated");
    const error = await bearing(project.postgrest.token({ sub: crypto.randomUUID() }));
    await project.query("revoke usage on schema leasehold from authenticated");
    expect(error.code).toBe("LH111");
    expect(error.message).toContain("permission denied for function reap");
  });

  it("of nobody, of another project, expired, or of a role that is gone says so (LH111)", async () => {
    const { keys, token } = project.postgrest;
    const sub = crypto.randomUUID();
    const errors = [
      [await reap("sb_secret_wrong"), "Invalid API key"],
      [await bearing(`${keys.serviceRole}x`), "No suitable key or wrong key type"],
      [await bearing("opaque"), "Expected 3 parts in JWT; got 1"],
      [await bearing(token({ sub, exp: inHours(-1) })), "JWT expired"],
      [await bearing(token({ sub, role: "nobody" })), 'role "nobody" does not exist'],
      [await bearing(token({ sub, role: "postgres" })), 'to set role "postgres"'],
    ] as const;
    for (const [error, words] of errors) {
      expect(error).toBeInstanceOf(DatabaseError);
      expect(error).toMatchObject({ code: "LH111", cause: { message: expect.any(String) } });
      expect(error.message).toContain(words);
      // It is not the network's fault, and no reason to try again for ever.
      expect([isAway(error), isRefusal(error)]).toEqual([false, true]);
    }
  });
});

describe("the schema", () => {
  it("that the Data API does not serve is named with the step (LH110)", async () => {
    project.postgrest.schemas = ["public", "graphql_public"];
    const error = await reap();
    expect(error).toBeInstanceOf(SchemaError);
    expect(error).toMatchObject({ code: "LH110", cause: { code: "PGRST106" } });
    expect(error.message).toContain('does not serve the schema "leasehold"');
    expect(error.hint).toMatch(/Data API → Exposed schemas.*\[api\].*config\.toml/);
    expect(isRefusal(error)).toBe(true);
    project.postgrest.schemas.push("leasehold");
    expect(await project.database.call("reap", {})).toBe(0);
  });

  it("that PostgREST does not know is named with both steps (LH007)", async () => {
    const error = await thrown(supabase(project.client(), { schema: "public" }).call("reap", {}));
    expect(error).toBeInstanceOf(SchemaError);
    expect(error).toMatchObject({ code: "LH007", cause: { code: "PGRST202" } });
    expect(error.message).toContain('"public" is missing in this database, or older');
    expect(error.hint).toMatch(/leasehold migrate.*notify pgrst, 'reload schema'/);
  });
});

describe("an error of PostgreSQL's", () => {
  /** A trigger of the application's on our table, which fails as it is told. */
  async function withTrigger(body: string): Promise<Thrown> {
    await project.query(
      `create function public.trouble() returns trigger language plpgsql as $f$
         begin ${body}; return new; end $f$;
       create trigger trouble before insert on leasehold.jobs
         for each row execute function public.trouble()`,
    );
    const error = await thrown(project.database.call("enqueue", { p_kind: "k" }));
    await project.query("drop function public.trouble() cascade");
    return error;
  }

  it("keeps SQLSTATE, message, detail and hint", async () => {
    const said = "raise exception using errcode = '23514', message = 'm', detail = 'd', hint = 'h'";
    const error = await withTrigger(said);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "23514", message: "m", detail: "d", hint: "h" });
    expect(describeError(error)).toMatchObject({ code: "23514", message: "m" });
  });

  it("is not taken for leasehold's where it comes from within", async () => {
    const errors = [
      await withTrigger("perform public.missing()"),
      await withTrigger(`raise exception 'schema "other" does not exist' using errcode = '3F000'`),
      await withTrigger("raise exception 'permission denied for table x' using errcode = '42501'"),
    ];
    expect(errors.map(({ code }) => code)).toEqual(["42883", "3F000", "42501"]);
    expect(errors.map((error) => error.name)).toEqual(["Error", "Error", "Error"]);
  });
});
