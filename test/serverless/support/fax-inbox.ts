import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  sign,
  signatureHeader,
  timestampHeader,
} from "../../../examples/fax-inbox/lib/signature.ts";
import { type Outside, startOutside } from "../../../examples/fax-inbox/outside/server.ts";
import { mailHeader } from "../../../examples/mail/messages.ts";
import type { PlannedMessage } from "../../../examples/mail/scenarios.ts";
import { openTestDatabase, type TestDatabase } from "../../support/databases.ts";
import { type Instance, type Invocation, Platform } from "./platform.ts";
import { runsTable } from "./runs.ts";

const webhookSecret = "the secret of the webhook of these tests";
const cronSecret = "the secret of the cron of these tests";
const storageKey = "the key of the storage of these tests";

/** Times are divided by this: a lease of 5 s, a budget of 4 s, a reserve of 0.5 s, a limit of 5 s. */
const timeScale = 60;

/** What the drains of the example have, in milliseconds. */
export const reserveMs = 30_000 / timeScale;

/** examples/fax-inbox on the platform, with everything outside of it. */
export interface FaxInbox {
  readonly db: TestDatabase;
  readonly outside: Outside;
  readonly platform: Platform;
  /** Announces a message to the webhook on this instance, as the mail provider does. */
  announce(instance: Instance, message: PlannedMessage): Invocation;
  /** Asks this instance to drain, as the cron does. */
  drain(instance: Instance, init?: { wait?: boolean }): Invocation;
  close(): Promise<void>;
}

/** `limitMs` is the platform's; default 5,000. */
export async function openFaxInbox({ limitMs = 5_000 } = {}): Promise<FaxInbox> {
  const db = await openTestDatabase("postgres");
  await db.query(runsTable);
  const folder = mkdtempSync(join(tmpdir(), "leasehold-fax-"));
  const outside = await startOutside({ webhookSecret, storageKey, folder });
  const platform = new Platform({
    app: new URL("../../../examples/fax-inbox/app", import.meta.url),
    limitMs,
    env: {
      ...outside.env,
      DATABASE_URL: db.url,
      CRON_SECRET: cronSecret,
      TIME_SCALE: String(timeScale),
    },
  });
  return {
    db,
    outside,
    platform,
    announce: (instance, message) => instance.invoke("/api/mail", announcement(message)),
    drain(instance, { wait = true } = {}) {
      const headers = { authorization: `Bearer ${cronSecret}` };
      return instance.invoke(`/api/leasehold/drain${wait ? "?wait=1" : ""}`, { headers });
    },
    async close() {
      await platform.close();
      await outside.close();
      await db.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function announcement(message: PlannedMessage): RequestInit {
  const body = JSON.stringify(mailHeader(message));
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const headers = {
    "content-type": "application/json",
    [timestampHeader]: timestamp,
    [signatureHeader]: sign(webhookSecret, timestamp, body),
  };
  return { method: "POST", headers, body };
}
