import type { PlannedMessage } from "../../../examples/mail/scenarios.ts";
import { until } from "../../drain/support/client.ts";
import { waitForLock } from "../../support/barrier.ts";
import type { Session } from "../../support/databases.ts";
import type { FaxInbox } from "./fax-inbox.ts";
import type { Instance } from "./platform.ts";

/**
 * Lies in wait for this message, which is announced afterwards: `dead` is the instance that was killed
 * when it had come to the point.
 */
export type Kill = (
  fax: FaxInbox,
  message: PlannedMessage,
) => Promise<{ readonly dead: Promise<Instance> }>;

export const kills: Readonly<Record<string, Kill>> = {
  "behind its claim": async (fax, { id }) => ({
    dead: new Promise((resolve) => {
      const stop = fax.platform.onReport((report) => {
        if (report.type !== "handled" || report.key !== id) return;
        stop();
        resolve(killed(fax, report.pid));
      });
    }),
  }),

  "when attachment 0 is stored, its step not saved": stored(0),
  "when attachment 1 is stored, its step not saved": stored(1),
  "when attachment 2 is stored, its step not saved": stored(2),

  /** The rows of the attachments wait for the row of their mail. */
  "in the transaction that completes the job": async (fax, message) => ({
    dead: whenStored(fax, message, 2, async (pid) => {
      const session = await begun(fax);
      try {
        await session.query("select from fax.mails where id = $1 for update", [message.id]);
        fax.outside.faults.release();
        await waitForLock(fax.db, await waiterFor(fax, session));
        return await killed(fax, pid);
      } finally {
        await ended(session);
      }
    }),
  }),

  "behind the commit": async (fax, message) => ({
    dead: whenStored(fax, message, 2, async (pid) => {
      fax.outside.faults.release();
      const done = "select status = 'completed' from leasehold.jobs where key = $1";
      await until(() => fax.db.value(done, [message.id]), "the job is completed");
      return killed(fax, pid);
    }),
  }),

  /** The mail is stored by somebody else who has not committed yet, and who gives up then. */
  async "in the transaction of its webhook"(fax, { id }) {
    const session = await begun(fax);
    await session.query(
      `insert into fax.mails (id, sender, subject, received_at, job_id)
       values ($1, '', '', now(), gen_random_uuid())`,
      [id],
    );
    const strike = async (): Promise<Instance> => {
      try {
        const name = await fax.db.value(
          "select application_name from pg_stat_activity where pid = $1",
          [await waiterFor(fax, session)],
        );
        const instance = [...fax.platform.instances].find((each) => each.name === name);
        return await killed(fax, instance?.pid);
      } finally {
        await ended(session);
      }
    };
    return { dead: strike() };
  },
};

function stored(position: number): Kill {
  return async (fax, message) => ({
    dead: whenStored(fax, message, position, async (pid) => {
      const instance = await killed(fax, pid);
      fax.outside.faults.release();
      return instance;
    }),
  });
}

/** Strikes when this attachment is stored and the storage keeps its answer back from that process. */
async function whenStored(
  { outside, db }: FaxInbox,
  { id }: PlannedMessage,
  position: number,
  strike: (pid: number) => Promise<Instance>,
): Promise<Instance> {
  outside.faults.plan({ at: "storage", about: `${id}/${position}.`, how: "held" });
  const isHeld = () => outside.faults.held === 1;
  await until(isHeld, `attachment ${position} of ${id} is stored`, 60_000);
  const worker = await db.value("select worker from leasehold.jobs where key = $1", [id]);
  return strike(Number(/^drain-(\d+)-/.exec(String(worker))?.[1]));
}

async function killed({ platform }: FaxInbox, pid: number | undefined): Promise<Instance> {
  const instance = [...platform.instances].find((each) => each.pid === pid);
  if (instance === undefined) throw new Error(`There is no instance with the pid ${pid}`);
  await instance.kill();
  return instance;
}

/** The backend that waits for a lock of this session. */
function waiterFor({ db }: FaxInbox, { pid }: Session): Promise<number> {
  const waits = "select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid))";
  return until(() => db.value(waits, [pid]), "somebody waits for the lock") as Promise<number>;
}

async function begun({ db }: FaxInbox): Promise<Session> {
  const session = await db.connect();
  await session.begin();
  return session;
}

async function ended(session: Session): Promise<void> {
  await session.rollback();
  await session.close();
}
