import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import type { Database, DatabaseTransaction } from "../../src/database.ts";
import { InvalidArgumentError, LeaseLostError, SchemaError } from "../../src/errors.ts";
import { migrate } from "../../src/schema/index.ts";

/** What a driver brings to pass the suite. */
export interface Subject {
  /** The driver's database over the schema of this name; all of them over the same data. */
  database(schema: string): Database;
  /** Installs leasehold in a schema; by `migrate` through the driver itself unless given. */
  prepare?(schema: string): Promise<unknown>;
  close(): Promise<void>;
}

/** A job as `claim` answers it. */
type Claimed = Record<string, unknown> & { id: string; generation: number };

/** The suite that every driver passes. A driver without transactions or scripts skips those. */
export function conformance(name: string, open: () => Promise<Subject>): void {
  describe(`the database of ${name}`, () => {
    const own = { schema: "leasehold" };
    let subject: Subject;
    let database: Database;

    const prepare = (schema: string): Promise<unknown> =>
      subject.prepare?.(schema) ?? migrate(subject.database(schema));

    beforeAll(async () => {
      subject = await open();
      await prepare(own.schema);
      database = subject.database(own.schema);
    });
    afterAll(() => subject?.close());

    answersAlike(() => database);
    errorsAlike(() => database);
    transactions(() => database);

    it("works in a schema of any name", async () => {
      const schema = `We"ird näme ${"$"}1`;
      await prepare(schema);
      const other = subject.database(schema);
      expect(other.schema).toBe(schema);
      const id = await enqueue(other, "elsewhere");
      expect(await other.call("status", { p_id: id })).toMatchObject({ status: "queued" });
      expect(await database.call("status", { p_id: id })).toBeNull();
    });

    it("names `leasehold migrate` where the schema is missing", async () => {
      const error = await rejection(subject.database("not_here").call("stats", {}));
      expect(error).toBeInstanceOf(SchemaError);
      expect(error).toMatchObject({ code: "LH007" });
      expect(error.message).toMatch(/"not_here" is missing.*`leasehold migrate`/);
    });

    it("runs a script of many statements whole or not at all", async (context) => {
      const script = database.script?.bind(database) ?? absent(context);
      await script("create table public.parts (n int); insert into public.parts values (1);");
      await rejection(
        script("drop table public.parts; create table public.other (n int); select 1/0;"),
      );
      await script("insert into public.parts values (2); drop table public.parts;");
      await script("create table public.other (n int); drop table public.other;");
    });
  });
}

function answersAlike(database: () => Database): void {
  it("answers uuid, text, int, boolean, null and jsonb alike", async () => {
    const payload = {
      text: "ü 漢 👩‍🚀 \" \\ \n \u2028 $1 ' %s",
      numbers: [0, -1.5, 1e21, 9007199254740991],
      nested: { empty: {}, list: [null, true, [], "null"] },
    };
    const id = await enqueue(database(), "alike", payload, { key: "k", owner: "o" });
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

    const [job] = await claim(database(), ["alike"]);
    expect(job).toMatchObject({ id, kind: "alike", key: "k", owner: "o", payload });
    expect(job).toMatchObject({ attempts: 1, generation: 1, max_attempts: 5 });

    const claimed = { p_id: id, p_generation: 1 };
    expect(await database().call("release", claimed)).toBe(true);
    expect(await database().call("complete", claimed)).toBe(false);
    expect(await database().call("reap", {})).toBe(0);
    expect(await database().call("status", { p_id: crypto.randomUUID() })).toBeNull();
  });

  it.each([[["list"]], ["text"], ['"'], [0], [false], [null], [{ a: null }], [[]]])(
    "takes and answers %j as a JSON value",
    async (value) => {
      const id = await enqueue(database(), "json", { value });
      const [job] = await claim(database(), ["json"]);
      expect(job).toMatchObject({ id, payload: { value } });
      await database().call("complete", { p_id: id, p_generation: 1, p_result: value });
      expect(await database().call("status", { p_id: id })).toMatchObject({ result: value });
    },
  );

  it("answers times as ISO 8601 text in UTC", async () => {
    const at = "2030-01-02T03:04:05.678Z";
    const id = await enqueue(database(), "timed", {}, { run_after: at });
    await database().call("run_now", { p_id: id });
    const [job] = await claim(database(), ["timed"]);
    for (const time of [job?.run_after, job?.lease_until, job?.timeout_at]) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|\+00:00)$/);
      expect(Math.abs(Date.parse(String(time)) - Date.now())).toBeLessThan(3 * 3600_000);
    }
  });

  it("takes arrays with quotes, backslashes, commas, braces and words that look like null", async () => {
    const kinds = ['a"b', "a\\b", "a,b", "{a}", "NULL", "a b", "ä'漢"];
    for (const kind of kinds) await enqueue(database(), kind);
    const jobs = await claim(database(), kinds, kinds.length);
    expect(jobs.map(({ kind }) => kind).sort()).toEqual(kinds.toSorted());
    const more = await enqueue(database(), "a,b");
    const not = { p_kinds: kinds, p_except: [more, crypto.randomUUID()] };
    expect(await database().call("claim", not)).toEqual([]);
  });

  it("takes the function's default for an argument that is left out or undefined", async () => {
    const ids = [await enqueue(database(), "defaults"), await enqueue(database(), "defaults")];
    const args = { p_kinds: ["defaults"], p_limit: undefined };
    const first = (await database().call("claim", args)) as Claimed[];
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 1));
    const rest = (await database().call("claim", { ...args, p_limit: 9 })) as Claimed[];
    expect(rest.map(({ id }) => id)).toEqual(ids.slice(1));
  });

  it("serves calls that run at the same time", async () => {
    const all = Array.from({ length: 30 }, (_, n) => enqueue(database(), "crowd", { n }));
    expect(new Set(await Promise.all(all)).size).toBe(30);
    const claims = await Promise.all([0, 1, 2].map(() => claim(database(), ["crowd"], 10)));
    const ids = claims.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length); // no job twice
  });
}

function errorsAlike(database: () => Database): void {
  it("throws errors of class LH with class, code and hint", async () => {
    const wrong = await rejection(database().call("claim", { p_kinds: [] }));
    expect(wrong).toBeInstanceOf(InvalidArgumentError);
    expect(wrong).toMatchObject({ code: "LH002", hint: expect.stringMatching(/./) });
    expect(wrong.message).toContain("p_kinds");

    const id = await enqueue(database(), "fenced");
    const lost = await rejection(database().call("guard", { p_id: id, p_generation: 1 }));
    expect(lost).toBeInstanceOf(LeaseLostError);
    expect(lost).toMatchObject({ code: "LH001" });
  });

  it("leaves PostgreSQL's other errors their SQLSTATE", async () => {
    const error = await rejection(database().call("status", { p_id: "no uuid" }));
    expect(error).toMatchObject({ code: "22P02" });
  });
}

function transactions(database: () => Database): void {
  it("commits a transaction when its function resolves", async (context) => {
    const transaction = transactionOf(database(), context);
    const id = await transaction((tx) => enqueue(tx, "committed"));
    expect(await statusOf(database(), id)).toBe("queued");
  });

  it("rolls back when its function rejects, and hands the error on", async (context) => {
    const transaction = transactionOf(database(), context);
    const seen: string[] = [];
    const failed = transaction(async (tx) => {
      seen.push(await enqueue(tx, "rolled_back"));
      expect(await statusOf(tx, seen[0])).toBe("queued");
      throw new Error("on purpose");
    });
    expect(await rejection(failed)).toMatchObject({ message: "on purpose" });
    expect(await statusOf(database(), seen[0])).toBeUndefined();
  });

  it("is usable after an error inside of a transaction", async (context) => {
    const transaction = transactionOf(database(), context);
    for (let i = 0; i < 10; i++) {
      const failed = transaction((tx) => tx.call("claim", { p_kinds: [] }));
      expect(await rejection(failed)).toMatchObject({ code: "LH002" });
    }
    expect(await transaction((tx) => tx.call("reap", {}))).toBe(0);
    expect(await database().call("reap", {})).toBe(0);
  });

  it("rejects when PostgreSQL rolls back in place of a commit", async (context) => {
    const transaction = transactionOf(database(), context);
    const seen: string[] = [];
    const swallowed = transaction(async (tx) => {
      seen.push(await enqueue(tx, "swallowed"));
      await tx.call("claim", { p_kinds: [] }).catch(() => undefined);
    });
    expect(await rejection(swallowed)).toMatchObject({ code: "25P02" });
    expect(await statusOf(database(), seen[0])).toBeUndefined();
  });

  it("refuses a call on a transaction that has ended", async (context) => {
    const transaction = transactionOf(database(), context);
    const kept: DatabaseTransaction[] = [];
    await transaction(async (tx) => void kept.push(tx));
    expect(await rejection(enqueue(kept[0] as DatabaseTransaction, "too_late"))).toBeInstanceOf(
      Error,
    );
    expect(await claim(database(), ["too_late"])).toEqual([]);
  });
}

type Caller = Pick<Database, "call">;

async function enqueue(to: Caller, kind: string, payload = {}, options = {}): Promise<string> {
  const args = { p_kind: kind, p_payload: payload, p_options: options };
  const answer = (await to.call("enqueue", args)) as { outcome: string; id: string };
  expect(answer.outcome).toBe("created");
  return answer.id;
}

async function claim(from: Caller, kinds: string[], limit = 1): Promise<Claimed[]> {
  return (await from.call("claim", { p_kinds: kinds, p_limit: limit })) as Claimed[];
}

async function statusOf(at: Caller, id: string | undefined): Promise<unknown> {
  const status = (await at.call("status", { p_id: id })) as { status: string } | null;
  return status?.status;
}

async function rejection(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    (value) => {
      throw new Error(`expected a rejection, got ${JSON.stringify(value)}`);
    },
    (error: Error) => error,
  );
}

function transactionOf(
  database: Database,
  context: TestContext,
): NonNullable<Database["transaction"]> {
  return database.transaction?.bind(database) ?? absent(context);
}

function absent(context: TestContext): never {
  return context.skip("this driver has no such capability");
}
