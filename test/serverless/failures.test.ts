import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Fault } from "../../examples/fax-inbox/outside/faults.ts";
import type { PlannedMessage } from "../../examples/mail/scenarios.ts";
import { eventsOf, rowOf } from "../drain/support/client.ts";
import { age } from "../support/ageing.ts";
import { freePort } from "../support/postgres-server.ts";
import { type FaxInbox, openFaxInbox } from "./support/fax-inbox.ts";
import type { Instance } from "./support/platform.ts";

/** 1, 5, 15 and 60 minutes, and the quarter of an hour that a refused key costs, all by 60. */
const backoffMs = [1_000, 5_000, 15_000, 60_000];
const restMs = 15_000;

let fax: FaxInbox;
let instance: Instance;
let used = 0;
beforeAll(async () => {
  fax = await openFaxInbox();
  instance = await fax.platform.start();
});
afterAll(async () => {
  expect(fax.platform.forced).toEqual([]);
  await fax.close();
});

type Planned = Omit<Fault, "about">;

/** A message that nobody has asked for yet. */
function next(): PlannedMessage {
  const message = fax.outside.mail.ordinary[used++];
  if (message === undefined) throw new Error("The provider has no more messages");
  return message;
}

/** Announces a message that meets these faults, on an instance, and answers its job's id after the drain. */
async function drained(faults: readonly Planned[], on = instance, message = next()) {
  fax.outside.faults.plan(...faults.map((fault) => ({ ...fault, about: message.id })));
  const { response, over } = fax.announce(on, message);
  expect(await response).toMatchObject({ status: 200, body: { outcome: "stored" } });
  await over;
  return fax.db.value("select job_id from fax.mails where id = $1", [message.id]);
}

/** When the job may run again, in milliseconds after its last event. */
async function waitOf(id: string): Promise<number> {
  const wait = `select extract(epoch from run_after - (
    select max(at) from leasehold.job_events where job_id = j.id)) * 1000
    from leasehold.jobs j where id = $1`;
  return Number(await fax.db.value(wait, [id]));
}

/** Lets that time pass, and drains. */
async function drainLater(id: string): Promise<void> {
  await age(fax.db, id, (backoffMs[3] as number) + 5_000);
  const { response, over } = fax.drain(instance);
  expect((await response).body).toMatchObject({ processed: 1 });
  await over;
}

/** The list says how long; up to 5 % are added, so that not all come back at once. */
function expectBackoff(waitMs: number, failures: number): void {
  const listed = backoffMs[failures - 1] as number;
  expect(waitMs).toBeGreaterThanOrEqual(listed);
  expect(waitMs).toBeLessThanOrEqual(listed * 1.05 + 1);
}

describe("a failure that may pass", () => {
  const transient: [string, Planned, string][] = [
    ["the provider answers 500", { at: "mail", how: 500 }, "HTTP_500"],
    ["the provider answers 503", { at: "mail", how: 503 }, "HTTP_503"],
    ["the provider resets the connection", { at: "mail", how: "reset" }, "ECONNRESET"],
    ["the provider does not answer in time", { at: "mail", how: "hang" }, "ETIMEDOUT"],
    ["the storage answers 500", { at: "storage", how: 500 }, "STORAGE_500"],
    ["the storage answers 503", { at: "storage", how: 503 }, "STORAGE_503"],
    ["the storage resets the connection", { at: "storage", how: "reset" }, "ECONNRESET"],
    ["the storage does not answer in time", { at: "storage", how: "hang" }, "ETIMEDOUT"],
  ];
  test.each(transient)("%s: tried again after a minute, and done then", async (_, fault, code) => {
    const id = await drained([fault]);
    await expectRetried(id, code);
    expectBackoff(await waitOf(id), 1);
    await expectDoneLater(id);
  });

  test("the provider says when to come back (429): then, and no sooner", async () => {
    const id = await drained([{ at: "mail", how: 429, retryAfterSeconds: 7 }]);
    await expectRetried(id, "HTTP_429");
    expect(await waitOf(id)).toBe(7_000);
    await expectDoneLater(id);
  });

  test("nobody listens where the provider should be", async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const id = await drained([], await fax.platform.start({ MAIL_PROVIDER_URL: nowhere }));
    await expectRetried(id, "ECONNREFUSED");
    expectBackoff(await waitOf(id), 1);
    await expectDoneLater(id);
  });

  test("the database refuses what the handler writes: nothing of it is left until it does not", async () => {
    const message = next();
    await fax.db.query(
      `alter table fax.attachments add constraint refused check (mail_id <> '${message.id}')`,
    );
    const id = await drained([], instance, message);
    await expectRetried(id, "23514");
    expectBackoff(await waitOf(id), 1);
    const rows = "select count(*) from fax.attachments where mail_id = $1";
    expect(await fax.db.value(rows, [message.id])).toBe(0);
    await fax.db.query("alter table fax.attachments drop constraint refused");
    await expectDoneLater(id);
    expect(await fax.db.value(rows, [message.id])).toBe(3);
  });

  test("five times: after 1, 5, 15 and 60 minutes, and then never again", async () => {
    const id = await drained([{ at: "mail", how: 503, times: 5 }]);
    for (let failures = 1; failures < 5; failures += 1) {
      expect(await rowOf(fax.db, id)).toMatchObject({
        ...{ status: "queued", attempts: failures, generation: failures, finished_at: null },
      });
      expectBackoff(await waitOf(id), failures);
      await drainLater(id);
    }
    expect(await rowOf(fax.db, id)).toMatchObject({
      ...{ status: "failed", attempts: 5, generation: 5, last_error_code: "HTTP_503" },
      ...{ lease_until: null, finished_at: expect.any(Date) },
    });
    expect((await eventsOf(fax.db, id)).map(({ event, code }) => [event, code])).toEqual(
      Array(5).fill(["failed", "HTTP_503"]),
    );
  });

  async function expectRetried(id: string, code: string): Promise<void> {
    expect(await rowOf(fax.db, id)).toMatchObject({
      ...{ status: "queued", attempts: 1, generation: 1, releases: 0, last_error_code: code },
      ...{ lease_until: null, finished_at: null },
    });
    expect(await eventsOf(fax.db, id)).toMatchObject([
      { event: "failed", generation: 1, code, detail: { attempt: 1, to: "queued" } },
    ]);
  }

  async function expectDoneLater(id: string): Promise<void> {
    await drainLater(id);
    expect(await rowOf(fax.db, id)).toMatchObject({
      ...{ status: "completed", attempts: 2, generation: 2, result: { attachments: 3 } },
    });
    expect(await eventsOf(fax.db, id)).toHaveLength(1);
  }
});

describe("a failure that stays", () => {
  test.each([404, 410, 400])("the provider answers %i: failed at once", async (how) => {
    const id = await drained([{ at: "mail", how }]);
    expect(await rowOf(fax.db, id)).toMatchObject({
      ...{ status: "failed", attempts: 1, generation: 1, last_error_code: `HTTP_${how}` },
      ...{ lease_until: null, finished_at: expect.any(Date) },
    });
    expect(await eventsOf(fax.db, id)).toMatchObject([
      { event: "failed", code: `HTTP_${how}`, detail: { to: "failed" } },
    ]);
    // A person puts it back: attempts from 0, and the generation goes on.
    expect(await fax.db.database.call("retry", { p_id: id })).toMatchObject({ outcome: "retried" });
    expect(await rowOf(fax.db, id)).toMatchObject({ status: "queued", attempts: 0, run: 2 });
    await drainLater(id);
    expect(await rowOf(fax.db, id)).toMatchObject({
      ...{ status: "completed", attempts: 1, generation: 2 },
    });
  });
});

describe("a key that is refused", () => {
  const refusals: [string, Planned, string][] = [
    ["by the provider (401)", { at: "mail", how: 401, times: 2 }, "HTTP_401"],
    ["by the provider (403)", { at: "mail", how: 403, times: 2 }, "HTTP_403"],
    ["by the storage", { at: "storage", how: "refused", times: 2 }, "STORAGE_403"],
  ];
  test.each(refusals)(
    "%s is not the job's fault: given back for 15 minutes",
    async (_, fault, code) => {
      const id = await drained([fault]);
      for (let releases = 1; releases <= 2; releases += 1) {
        expect(await rowOf(fax.db, id)).toMatchObject({
          ...{
            status: "queued",
            attempts: 0,
            generation: releases,
            releases,
            last_error_code: code,
          },
          ...{ lease_until: null, finished_at: null },
        });
        expect(await waitOf(id)).toBe(restMs);
        await drainLater(id);
      }
      expect(await rowOf(fax.db, id)).toMatchObject({
        ...{ status: "completed", attempts: 1, generation: 3, releases: 2 },
      });
      expect((await eventsOf(fax.db, id)).map(({ event, code }) => [event, code])).toEqual(
        Array(2).fill(["released", code]),
      );
    },
  );
});
