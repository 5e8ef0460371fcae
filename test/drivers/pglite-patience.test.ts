import { once } from "node:events";
import { createServer } from "node:net";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  serveWire,
  type WireServer,
  type WireServerOptions,
} from "../../src/pglite/wire/server.ts";
import { until } from "../drain/support/client.ts";
import { RawClient } from "./raw-client.ts";
import { type ServedPGlite, servePGlite } from "./served-pglite.ts";

/* What a served PGlite bears, and what it does not. */

let served: ServedPGlite;
let server: WireServer;

beforeAll(async () => {
  served = await servePGlite();
  await served.db.query("create table public.words (word text)");
});
beforeEach(() => served.db.query("truncate public.words"));
afterEach(() => server.close());
afterAll(() => served.close());

/** A server of its own for each test, over the same PGlite; answers a client of it. */
async function serve(options?: WireServerOptions): Promise<RawClient> {
  server = await serveWire(served.own, options);
  return RawClient.open(server.port);
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(server.url);
  client.on("error", () => undefined); // the server closes before it
  await client.connect();
  return client;
}

const count = () => served.db.value("select count(*) from public.words");

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("resolved"),
    (error: unknown) => error,
  );

describe("a transaction whose client falls silent", () => {
  it.each(["in a transaction", "in a batch", "in a COPY"])(
    "%s is rolled back and cut off, which tells why, and others go on",
    async (where) => {
      const client = await serve({ idleMs: 300 });
      if (where === "in a transaction") client.send("Q", "begin; insert into words values ('a')");
      else if (where === "in a batch") client.parse("", "insert into words values ('a')").run("");
      else client.send("Q", "copy words from stdin").send("d", Buffer.from("a\n"));
      if (where === "in a transaction") await client.answer();
      else await client.answerOf(where === "in a COPY" ? "G" : "C");
      const other = await connect();
      await other.query("insert into words values ('b')");
      const last = (await client.answer()).at(-1);
      expect(last).toMatch(/^E 25P03 the transaction was rolled back and the connection closed/);
      await client.closed;
      expect(await count()).toBe(1);
    },
  );

  it("is not meant by a client that has none", async () => {
    const client = await serve({ idleMs: 50, turnMs: 10_000 });
    const busy = await connect();
    // Longer than 50 ms: the time is the session's, not the clock's of this test.
    await busy.query("select pg_sleep(0.2)");
    client.send("Q", "select 'still here'");
    expect(await client.answer()).toContain("D still here");
  });
});

describe("a client that waits for its turn", () => {
  it("is told when it does not come, and may ask again", async () => {
    const holder = await serve({ turnMs: 300 });
    holder.send("Q", "begin");
    await holder.answer();
    const client = await connect();
    const refused = { code: "55P03", message: expect.stringContaining("one session") };
    expect(await rejection(client.query("insert into words values ('a')"))).toMatchObject(refused);
    const extended = client.query("insert into words values ($1)", ["b"]);
    expect(await rejection(extended)).toMatchObject(refused);
    holder.send("Q", "commit");
    await holder.answer();
    await client.query("insert into words values ('c')");
    expect(await count()).toBe(1);
  });
});

describe("a server that closes", () => {
  it("rolls back, tells the clients, and leaves PGlite open", async () => {
    const client = await serve();
    client.send("Q", "begin; insert into words values ('a')");
    await client.answer();
    const idle = await RawClient.open(server.port);
    await server.close();
    for (const each of [client, idle]) {
      expect(await each.answer()).toEqual(["E 57P01 the embedded database is shut down"]);
      await each.closed;
    }
    expect(await count()).toBe(0);
  });

  it("needs its port, and says where it can't have it", async () => {
    await serve();
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await expect(serveWire(served.own, { port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    other.close();
  });

  it("is told where PGlite breaks down, and answers no call from then on", async () => {
    let broken = false;
    const lost: Error[] = [];
    const exec: typeof served.own.wire.exec = async (messages, onData) => {
      if (broken) throw new Error("unreachable");
      return served.own.wire.exec(messages, onData);
    };
    const own = { ...served.own, wire: { ...served.own.wire, exec } };
    server = await serveWire(own, { onLost: (error) => void lost.push(error) });
    const [one, two] = await Promise.all([
      RawClient.open(server.port),
      RawClient.open(server.port),
    ]);
    broken = true;
    for (const client of [one, two]) {
      client.send("Q", "select 1");
      expect(await client.answer()).toEqual([
        "E 57P02 the embedded database broke down: unreachable",
      ]);
      await client.closed;
    }
    expect(lost).toHaveLength(1);
  });
});

describe("what is no client of PostgreSQL", () => {
  const startup = (code: number, length = 8): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeInt32BE(length);
    bytes.writeInt32BE(code, 4);
    return bytes;
  };

  it.each([
    ["a browser", Buffer.from("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nselect 1"), /^E 08P01/],
    ["an older protocol", startup(0x20000), /^E 08P01/],
    ["a length that is none", startup(0x30000, 3), /^E 08P01/],
    ["a request to cancel", startup(80877102, 16), undefined],
  ])("is closed, and nobody else: %s", async (_, bytes, says) => {
    const client = await serve();
    const stranger = new RawClient(server.port);
    stranger.socket.write(bytes);
    if (bytes.readInt32BE() === 16) stranger.socket.write(Buffer.alloc(8));
    const answer = await stranger.answer();
    expect(answer).toEqual(says === undefined ? [] : [expect.stringMatching(says)]);
    client.send("Q", "select 'fine'");
    expect(await client.answer()).toContain("D fine");
  });

  it.each([
    ["an unknown type", Buffer.from("y\0\0\0\x04")],
    ["a length of no message", Buffer.from("Q\0\0\0\x02")],
    ["a length beyond all measure", Buffer.from("Q\x7f\xff\xff\xff")],
    ["a text without its end", Buffer.from("Q\0\0\0\x08abcd")],
    ["a statement without its name", Buffer.from("P\0\0\0\x06ab")],
  ])("loses its transaction and its connection: %s", async (_, bytes) => {
    const other = await serve();
    const client = await RawClient.open(server.port);
    client.send("Q", "begin; insert into words values ('a')");
    await client.answer();
    client.socket.write(bytes);
    expect(await client.answer()).toEqual([expect.stringMatching(/^E 08P01/)]);
    await client.closed;
    other.send("Q", "select count(*) from words");
    expect(await other.answer()).toContain("D 0");
  });

  it("or half of one that leaves is no news", async () => {
    const client = await serve();
    const half = new RawClient(server.port);
    half.socket.end(Buffer.from("\0\0"));
    await half.closed;
    client.send("Q", "select 'fine'");
    expect(await client.answer()).toContain("D fine");
  });
});

describe("a client that introduces itself", () => {
  it("is refused encryption, and served without", async () => {
    await serve();
    const client = new RawClient(server.port);
    for (const code of [80877103, 80877104]) {
      const request = Buffer.alloc(8);
      request.writeInt32BE(8);
      request.writeInt32BE(code, 4);
      client.socket.write(request);
      const [answer] = (await once(client.socket, "data")) as [Buffer];
      expect(answer.toString()).toBe("N");
    }
  });

  it.each([
    ["another database", { database: "other" }, /^E 3D000 database "other" does not exist/],
    ["no database", {}, /^E 3D000 database "u" does not exist/],
    ["replication", { database: "postgres", replication: "database" }, /^E 0A000/],
  ])("is refused %s", async (_, parameters, says) => {
    await serve();
    const client = new RawClient(server.port);
    client.startUp({ user: "u", ...parameters });
    expect(await client.answer()).toEqual([expect.stringMatching(says)]);
    await client.closed;
  });

  it("in a newer protocol is answered in this one, and told its parameters", async () => {
    await serve();
    const client = new RawClient(server.port);
    client.startUp({ user: "u", database: "postgres", "_pq_.future": "x" }, 0x30002);
    const answer = await client.answer();
    expect(answer.slice(0, 2)).toEqual(["v", "R"]);
    expect(answer.filter((type) => type === "S").length).toBeGreaterThan(12);
    expect(answer.slice(-2)).toEqual(["K", "Z I"]);
    await until(() => !client.socket.destroyed, "it stays");
  });
});
