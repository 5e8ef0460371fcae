import { createHash } from "node:crypto";
import { setTimeout as rest } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectedAttachments } from "../../examples/mail/messages.ts";
import type { PlannedMessage } from "../../examples/mail/scenarios.ts";
import { type FaxInbox, openFaxInbox, reserveMs } from "./support/fax-inbox.ts";
import { type Kill, kills } from "./support/kills.ts";
import type { Instance } from "./support/platform.ts";

const rounds = 20;
const messages = 30;
const many = 3;

let fax: FaxInbox;
beforeAll(async () => {
  // What a busy machine does to 33 requests at once does not scale: limit.test.ts is about the limit.
  fax = await openFaxInbox({ limitMs: 20_000 });
});
afterAll(() => fax.close());

/** The instances that requests go to. */
const fleet: Instance[] = [];
/** The processes that were killed. */
const dead = new Set<number>();

/** The process of a drain, by the name under which it claims. */
const pidOf = (worker: string) => Number(/^drain-(\d+)-/.exec(worker)?.[1]);

/** Announces a message until somebody has heard, as a mail provider does. */
async function announce(message: PlannedMessage, nth: number): Promise<void> {
  for (let i = nth; ; i += 1) {
    const { response } = fax.announce(fleet[i % fleet.length] as Instance, message);
    const answer = await response.catch(() => undefined);
    if (answer?.status === 200) return;
    // Dead before it could answer; anything else is no matter of a kill.
    expect(answer).toBeUndefined();
  }
}

const tick = () => fleet.map((instance) => fax.drain(instance).response.catch(() => undefined));

/** As a cron does: asks all instances to drain, again and again. */
async function cronUntil(done: () => Promise<boolean>): Promise<void> {
  while (!(await done())) {
    await Promise.all(tick());
    await rest(50);
  }
}

/** How many of these are not completed, and wait for no lease of a process that is dead. */
async function left(batch: readonly PlannedMessage[]): Promise<number> {
  const rows = await fax.db.query(
    "select status, worker from leasehold.jobs where key = any ($1)",
    [batch.map(({ id }) => id)],
  );
  expect(rows).toHaveLength(batch.length);
  const waits = ({ status, worker }: (typeof rows)[number]) =>
    status === "running" && dead.has(pidOf(worker));
  return rows.filter((row) => row.status !== "completed" && !waits(row)).length;
}

describe("webhooks and crons that start drains at the same time, one of them killed in each round", () => {
  const all: PlannedMessage[] = [];

  test(`${rounds} rounds of ${messages} messages`, async () => {
    fleet.push(...(await Promise.all(Array.from({ length: many }, () => fax.platform.start()))));
    const points = Object.values(kills);
    for (let round = 0; round < rounds; round += 1) {
      const batch = fax.outside.mail.ordinary.slice(round * messages, (round + 1) * messages);
      all.push(...batch);
      const target = batch[(round * 7) % messages] as PlannedMessage;
      const kill = points[round % points.length] as Kill;
      const struck = await kill(fax, target);
      let over = false;
      const replaced = async (): Promise<void> => {
        const instance = await struck.dead.finally(() => {
          over = true;
        });
        dead.add(instance.pid);
        fleet.splice(fleet.indexOf(instance), 1);
        fleet.push(await fax.platform.start());
      };
      const asked = [...tick(), ...batch.map(announce)];
      // What the first drains leave is the cron's, the message that is waited for among it.
      await Promise.all([replaced(), cronUntil(async () => over)]);
      await Promise.all(asked);
      await cronUntil(async () => (await left(batch)) === 0);
    }
    await cronUntil(async () => (await fax.db.value(unfinished)) === 0);
    expect(dead.size).toBe(rounds);
  }, 240_000);

  test("every attachment is in the storage once and byte for byte, and has one row", async () => {
    const expected = (
      await Promise.all(
        all.map(async (message) =>
          (
            await expectedAttachments(message)
          ).map(({ index, filename, bytes, sha256 }) => ({
            mail_id: message.id,
            position: index,
            path: `${message.id}/${index}${/\.\w+$/.exec(filename)?.[0]}`,
            bytes,
            sha256,
          })),
        ),
      )
    ).flat();
    expect(
      await fax.db.query(
        "select mail_id, position, path, bytes, sha256 from fax.attachments order by 1, 2",
      ),
    ).toEqual(expected);
    const { objects } = fax.outside.storage;
    expect(await objects.names("")).toEqual(expected.map(({ path }) => `faxes/${path}`).sort());
    for (const { path, sha256 } of expected) {
      const content = (await objects.get(`faxes/${path}`))?.content ?? "";
      expect(createHash("sha256").update(content).digest("hex"), path).toBe(sha256);
    }
    // A step that is saved is not done again: once a claim at the most, and once alone for most.
    const claims = new Map<string, number>(
      (await fax.db.query("select key, generation from leasehold.jobs")).map(
        ({ key, generation }) => [key, generation],
      ),
    );
    for (const [name, times] of objects.writes) {
      expect(times, name).toBeLessThanOrEqual(claims.get(name.split("/")[1] ?? "") ?? 0);
    }
    expect([...objects.writes.values()].filter((times) => times > 1).length).toBeGreaterThan(3);
  });

  test("no claim was handled twice, and none was made too late for its budget", async () => {
    const runs = await fax.db.query(
      "select job_id || '.' || generation as claim, pid, extract(epoch from timeout) * 1000 as ms from public.runs",
    );
    const claims = runs.map(({ claim }) => claim);
    expect(new Set(claims).size).toBe(claims.length);
    const told = fax.platform.toldOf("handled").map(({ id, generation }) => `${id}.${generation}`);
    expect(new Set(told).size).toBe(told.length);
    // Only a process that died on the spot may have failed to tell.
    expect(claims).toEqual(expect.arrayContaining(told));
    const untold = runs.filter(({ claim }) => !told.includes(claim));
    for (const { pid } of untold) expect(dead).toContain(pid);
    // A drain gives its claim what is left of the budget, and the reserve on top of it.
    for (const { claim, ms } of runs)
      expect(Number(ms), claim).toBeGreaterThanOrEqual(2 * reserveMs);
  });

  test("the jobs, their steps and their events tell the same story", async () => {
    const jobs = await fax.db.query("select * from leasehold.jobs");
    expect(jobs).toHaveLength(all.length);
    const events = await fax.db.query(
      "select job_id, event, code, detail from leasehold.job_events",
    );
    const of = (name: string, id?: string) =>
      events.filter(({ event, job_id }) => event === name && (id ?? job_id) === job_id);
    for (const { id, attempts, releases, ...job } of jobs) {
      expect({ id, ...job }).toMatchObject({
        ...{ status: "completed", lease_until: null, money: null, result: { attachments: 3 } },
      });
      // An attempt was taken by a kill, or by an answer that was too slow on this machine.
      const taken = of("reaped", id).length + of("failed", id).length;
      expect({ id, attempts }).toEqual({ id, attempts: 1 + taken });
      expect({ id, releases }).toEqual({ id, releases: of("released", id).length });
      // Every claim ended in one of these ways.
      expect({ id, generation: job.generation }).toEqual({ id, generation: attempts + releases });
    }
    // Only the dead left a lease behind, and each of them one, for it had one job in hand.
    const reaped = of("reaped").map(({ detail }) => pidOf(detail.worker));
    expect(new Set(reaped).size).toBe(reaped.length);
    for (const pid of reaped) expect(dead).toContain(pid);
    // Five points of seven are in the middle of a job; without any, this would have tested nothing.
    expect(reaped.length).toBeGreaterThanOrEqual(10);
    for (const { code } of of("released")) expect(code).toBe("BUDGET_EXCEEDED");
    for (const { code } of of("failed")) expect(code).toBe("ETIMEDOUT");
    const known = of("reaped").length + of("released").length + of("failed").length;
    expect(events).toHaveLength(known);
    // Three steps each, saved by a claim that there was.
    const steps = await fax.db.query(`
      select s.job_id from leasehold.steps s join leasehold.jobs j on j.id = s.job_id
      group by s.job_id, j.generation having count(*) = 3 and max(s.generation) <= j.generation`);
    expect(steps).toHaveLength(all.length);
    const mails = await fax.db.query(`
      select m.id from fax.mails m join leasehold.jobs j on j.id = m.job_id and j.key = m.id
      where m.fetched_at is not null`);
    expect(mails).toHaveLength(all.length);
    expect(await fax.db.value("select leasehold.verify_credits() ->> 'ok'")).toBe("true");
  });

  test("nothing was lost or in the way, and no drain reports of what it has not done", () => {
    expect(fax.platform.forced).toEqual([]);
    expect(fax.platform.toldOf("error")).toEqual([]);
    expect(fax.platform.toldOf("lost")).toEqual([]);
    const reported = fax.platform.toldOf("drained").flatMap(({ jobs }) => jobs);
    const claims = reported.map(({ id, generation }) => `${id}.${generation}`);
    expect(new Set(claims).size).toBe(claims.length);
  });
});

const unfinished = "select count(*) from leasehold.jobs where status <> 'completed'";
