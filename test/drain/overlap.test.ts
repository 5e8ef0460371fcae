import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { ageAll } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts } from "./support/client.ts";
import { startChild } from "./support/parent.ts";

const mail = defineJob("mail");

describe.each(backends)("overlapping drains on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test.each([2, 5])("%i of them share the work and never a job (S45)", async (many) => {
    const handled: unknown[] = [];
    const clients = Array.from({ length: many }, () =>
      client(
        db.database,
        handle(mail, async ({ payload }) => {
          handled.push(payload);
          await db.value("select 1");
        }),
      ),
    );
    const payloads = Array.from({ length: 30 }, (_, i) => i);
    await clients[0]?.enqueueMany(payloads.map((payload) => ({ job: mail, payload })));
    let [processed, rounds] = [0, 0];
    while (processed < 30) {
      const reports = await Promise.all(clients.map((each) => each.drain({ maxJobs: 3 })));
      processed += reports.reduce((sum, report) => sum + report.processed, 0);
      rounds += 1;
    }
    expect(processed).toBe(30);
    expect(handled.sort((a, b) => Number(a) - Number(b))).toEqual(payloads);
    expect(rounds).toBe(30 / (3 * many));
    expect(await counts(db)).toEqual({ completed: 30 });
  });

  test("ten on one orphan run it once, and the nine others report nothing (S03)", async () => {
    const ran: unknown[] = [];
    const leasehold = client(
      db.database,
      handle(mail, ({ id, generation }) => ran.push([id, generation])),
    );
    const rounds = backend === "postgres" ? 20 : 3;
    for (let round = 0; round < rounds; round++) {
      const answer = await leasehold.enqueue(mail);
      await db.database.call("claim", { p_kinds: ["mail"] });
      await ageAll(db, "jobs", 301_000);
      const reports = await Promise.all(Array.from({ length: 10 }, () => leasehold.drain()));
      expect(reports.map(({ processed }) => processed).sort()).toEqual([...Array(9).fill(0), 1]);
      expect(ran.splice(0)).toEqual([["id" in answer && answer.id, 2]]);
    }
  });
});

describe("overlapping drains", () => {
  test("of five processes share the work and never a job (S45)", async () => {
    const db = await openTestDatabase("postgres");
    const children = Array.from({ length: 5 }, () => startChild("share", db.url));
    await Promise.all(children.map((child) => child.told("ready")));
    const payloads = Array.from({ length: 300 }, (_, i) => i);
    await client(db.database).enqueueMany(payloads.map((payload) => ({ job: mail, payload })));
    for (const child of children) child.process.send("go");
    const handled = await Promise.all(children.map((child) => child.told("handled")));
    const processed = await Promise.all(children.map((child) => child.told("processed")));
    expect(processed.reduce((sum, n) => sum + n, 0)).toBe(300);
    expect(handled.flat().sort((a, b) => a[0] - b[0])).toEqual(payloads.map((n) => [n, 1]));
    for (const { code } of await Promise.all(children.map((child) => child.ended))) {
      expect(code).toBe(0);
    }
    expect(await counts(db)).toEqual({ completed: 300 });
    await db.close();
  });

  test("of one process leave one listener for SIGTERM, however many they are", async () => {
    const db = await openTestDatabase("postgres");
    const before = process.listenerCount("SIGTERM");
    let during = 0;
    const leasehold = client(
      db.database,
      handle(mail, () => {
        during = Math.max(during, process.listenerCount("SIGTERM"));
      }),
    );
    await leasehold.enqueueMany(Array.from({ length: 20 }, () => ({ job: mail })));
    await Promise.all(Array.from({ length: 20 }, () => leasehold.drain()));
    expect([during, process.listenerCount("SIGTERM")]).toEqual([before + 1, before]);
    await db.close();
  });
});
