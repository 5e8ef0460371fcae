import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../drain/support/client.ts";
import { waitForLocks } from "../support/barrier.ts";
import { type FaxInbox, openFaxInbox } from "./support/fax-inbox.ts";

let fax: FaxInbox;
beforeAll(async () => {
  fax = await openFaxInbox();
});
afterAll(() => fax.close());

/** What is left of an announcement, in all tables that it writes to. */
async function left(id: string): Promise<Record<string, number>> {
  const [row] = await fax.db.query(
    `select (select count(*) from fax.mails where id = $1) as mails,
       (select count(*) from leasehold.jobs where key = $1) as jobs,
       (select count(*) from leasehold.once where once = $1) as once,
       (select count(*) from leasehold.job_events e
        where not exists (select from leasehold.jobs j where j.id = e.job_id)) as orphans`,
    [id],
  );
  return row as Record<string, number>;
}

const stored = { mails: 1, jobs: 1, once: 1, orphans: 0 };

test("a mail that is announced at the same moment on two instances: one mail, one job", async () => {
  const [message] = fax.outside.mail.ordinary;
  if (message === undefined) throw new Error("The provider has no messages");
  const instances = await Promise.all([fax.platform.start(), fax.platform.start()]);
  // Nobody gets past storing the mail until both are there.
  const barrier = await fax.db.connect();
  await barrier.begin();
  await barrier.query("lock table fax.mails in exclusive mode");
  const webhooks = instances.map((instance) => fax.announce(instance, message));
  await waitForLocks(fax.db, 2);
  await barrier.rollback();
  const answers = await Promise.all(webhooks.map(({ response }) => response));
  expect(answers.map(({ status, body }) => `${status} ${body.outcome}`).sort()).toEqual([
    "200 known",
    "200 stored",
  ]);
  await Promise.all(webhooks.map(({ over }) => over));
  // And once more, long afterwards.
  const again = fax.announce(instances[0], message);
  expect((await again.response).body).toEqual({ outcome: "known" });
  await again.over;
  expect(await left(message.id)).toEqual(stored);
  expect(await fax.db.value("select count(*) from leasehold.jobs")).toBe(1);
  const runs = fax.platform.toldOf("handled").map(({ id, generation }) => `${id}.${generation}`);
  expect(new Set(runs).size).toBe(runs.length);
});

test("a webhook whose transaction is rolled back behind the enqueue leaves nothing", async () => {
  const message = fax.outside.mail.ordinary[1];
  if (message === undefined) throw new Error("The provider has no second message");
  const instance = await fax.platform.start();
  await fax.db.query(`alter table fax.mails add constraint refused check (id <> '${message.id}')`);
  const refused = fax.announce(instance, message);
  expect((await refused.response).status).toBe(500);
  await refused.over;
  expect(await left(message.id)).toEqual({ mails: 0, jobs: 0, once: 0, orphans: 0 });
  // The provider comes again, and there is nothing in the way.
  await fax.db.query("alter table fax.mails drop constraint refused");
  const accepted = fax.announce(instance, message);
  expect((await accepted.response).body).toEqual({ outcome: "stored" });
  await accepted.over;
  expect(await left(message.id)).toEqual(stored);
});

test("a webhook that is killed in its transaction leaves nothing", async () => {
  const message = fax.outside.mail.ordinary[2];
  if (message === undefined) throw new Error("The provider has no third message");
  const instance = await fax.platform.start();
  const barrier = await fax.db.connect();
  await barrier.begin();
  await barrier.query("lock table fax.mails in exclusive mode");
  const webhook = fax.announce(instance, message);
  await waitForLocks(fax.db, 1);
  await instance.kill();
  await expect(webhook.response).rejects.toThrow();
  await barrier.rollback();
  const connections = "select count(*) from pg_stat_activity where application_name = $1";
  const closed = async () => (await fax.db.value(connections, [instance.name])) === 0;
  await until(closed, "its connections are closed");
  expect(await left(message.id)).toEqual({ mails: 0, jobs: 0, once: 0, orphans: 0 });
});
