import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type DatabaseServer,
  serveDatabase,
  socketDatabase,
  socketPath,
} from "../../examples/mail/socket-database.ts";
import type { Arguments, Database } from "../../src/database.ts";
import {
  invalidArgument,
  LeaseholdError,
  LeaseLostError,
  leaseholdError,
} from "../../src/errors.ts";

// The examples import the built package. Here its source takes its place: no build is needed, and
// there are not two classes of each error.
vi.mock("leasehold", () => import("../../src/index.ts"));

/** Stands in for PGlite: this file tests the transport, so what a call does is up to each test. */
class Served implements Database {
  readonly schema = "leasehold";
  answer: (name: string, args: Arguments) => unknown = () => null;

  async call(name: string, args: Arguments): Promise<unknown> {
    return this.answer(name, args);
  }
}

let folder: string;
let path: string;
let served: Served;
let server: DatabaseServer;
let database: Database;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasehold-"));
  path = socketPath(folder);
  served = new Served();
  server = await serveDatabase(served, path);
  database = socketDatabase(path);
});
afterEach(async () => {
  await database.close?.();
  await server.close().catch(() => {});
  await rm(folder, { recursive: true });
});

describe("a call", () => {
  test("reaches the database with its name and arguments, and its answer comes back", async () => {
    served.answer = (name, args) => ({ name, args });
    const args = { p_kinds: ["fetch_email"], p_limit: 1, p_worker: null, p_after: undefined };
    expect(await database.call("claim", args)).toEqual({
      name: "claim",
      args: { p_kinds: ["fetch_email"], p_limit: 1, p_worker: null },
    });
  });

  test.each([
    ["null", null],
    ["nothing", undefined],
    ["false", false],
    ["zero", 0],
    ["rows", [{ id: "a" }, { id: "b" }]],
  ])("may answer %s", async (_, value) => {
    served.answer = () => value;
    expect(await database.call("complete", {})).toEqual(value);
  });

  test("carries line breaks, U+2028 and text far longer than one packet", async () => {
    served.answer = (_, args) => args.p_payload;
    const text = `a\nb\r\nc\u2028d\u2029受信${"長い".repeat(400_000)}`;
    expect(await database.call("enqueue", { p_payload: { text } })).toEqual({ text });
  });

  test("may overlap with others: an answer goes to the call that it belongs to", async () => {
    const waiting = new Map<unknown, (value: unknown) => void>();
    served.answer = (_, args) =>
      new Promise((resolve) => {
        waiting.set(args.p_id, resolve);
        if (waiting.size === 3) for (const id of ["c", "a", "b"]) waiting.get(id)?.(`for ${id}`);
      });
    const calls = ["a", "b", "c"].map((id) => database.call("status", { p_id: id }));
    expect(await Promise.all(calls)).toEqual(["for a", "for b", "for c"]);
  });

  test("that can't be written as JSON is rejected, and the connection goes on", async () => {
    served.answer = () => "fine";
    await expect(database.call("enqueue", { p_payload: 1n })).rejects.toThrow("BigInt");
    expect(await database.call("stats", {})).toBe("fine");
  });
});

describe("an error", () => {
  test.each([
    leaseholdError("LH001", "The lease of job 7 is lost", "Stop, and let the result go."),
    invalidArgument("p_limit", -1, "a number from 1 to 1000"),
    leaseholdError("LH005", "The key stayed contended", ""),
  ])("of leasehold arrives as it was: %s", async (thrown) => {
    const caught = await failure(thrown);
    expect(caught).toBeInstanceOf(LeaseholdError);
    expect(caught.constructor).toBe(thrown.constructor);
    const { code, hint, message, name } = thrown;
    expect(caught).toMatchObject({ code, hint, message, name });
  });

  test("of leasehold keeps its class", async () => {
    expect(await failure(leaseholdError("LH001", "lost", "Stop."))).toBeInstanceOf(LeaseLostError);
  });

  test("of a driver arrives with its code, and is not taken for one of leasehold", async () => {
    const caught = await failure(Object.assign(new Error("deadlock detected"), { code: "40P01" }));
    expect(caught).not.toBeInstanceOf(LeaseholdError);
    expect(caught).toMatchObject({ message: "deadlock detected", code: "40P01" });
  });

  async function failure(thrown: Error): Promise<Error> {
    served.answer = () => Promise.reject(thrown);
    return database.call("guard", {}).then(
      () => expect.fail("resolved"),
      (error: Error) => error,
    );
  }
});

describe("a lost connection", () => {
  test("rejects what is open, and the next call connects again", async () => {
    const arrived = new Promise<void>((resolve) => {
      served.answer = () => {
        resolve();
        return new Promise(() => {});
      };
    });
    const open = database.call("claim", {});
    const rejected = expect(open).rejects.toMatchObject({ code: "ECONNRESET" });
    await arrived;
    await server.close();
    await rejected;

    await expect(database.call("claim", {})).rejects.toMatchObject({ code: "ENOENT" });

    served.answer = () => "again";
    server = await serveDatabase(served, path);
    expect(await database.call("claim", {})).toBe("again");
  });

  test("of one worker leaves the others alone", async () => {
    let arrive = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    served.answer = (name) => {
      if (name === "stats") return "fine";
      arrive();
      return new Promise(() => {});
    };
    const other = socketDatabase(path);
    const rejected = expect(other.call("claim", {})).rejects.toMatchObject({ code: "ECONNRESET" });
    await arrived;
    await other.close?.();
    await rejected;
    expect(await database.call("stats", {})).toBe("fine");
  });
});

describe("the server", () => {
  test.each(["no JSON", "[]", "null", "7", '{"id":1,"name":"x; drop table jobs"}'])(
    "hangs up on %j and goes on with the others",
    async (line) => {
      served.answer = () => "fine";
      const socket: Socket = connect(path);
      socket.write(`${line}\n`);
      await once(socket.resume(), "close");
      expect(await database.call("stats", {})).toBe("fine");
    },
  );

  test("refuses a path on which somebody listens", async () => {
    await expect(serveDatabase(served, path)).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

test("a worker that was never connected closes without a word", async () => {
  await socketDatabase(join(folder, "nobody.sock")).close?.();
});
