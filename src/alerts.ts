import type { ClientParts } from "./client-parts.ts";
import { type PageOptions, pageArguments } from "./credits.ts";
import type { Database } from "./database.ts";
import { describeError } from "./describe-error.ts";
import { inTime, settledWithin } from "./in-time.ts";
import { camelCase } from "./status.ts";

/** What a person must look at. Times are ISO 8601 in UTC. */
export interface LeaseholdAlert {
  readonly id: number;
  readonly at: string;
  readonly severity: "warning" | "critical";
  /** MONEY_UNKNOWN, MONEY_CHARGED or RELEASED_TEN_TIMES; see the SQL function alerts. */
  readonly code: string;
  readonly jobId: string | null;
  readonly message: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** When a hook had been told. */
  readonly toldAt: string | null;
}

export interface AlertsPage {
  /** The newest first. */
  readonly alerts: readonly LeaseholdAlert[];
  /** What to pass as `before` for the page that follows; null: there is none. */
  readonly next: number | null;
}

/** Tells a person. What it throws is logged, and the alert is told again a minute later. */
export type OnAlert = (alert: LeaseholdAlert) => unknown;

export async function alerts(database: Database, options: PageOptions = {}): Promise<AlertsPage> {
  const args = pageArguments("alerts", options);
  const page = (await database.call("alerts", args)) as { alerts: object[]; next: number | null };
  return { ...page, alerts: page.alerts.map((row) => camelCase<LeaseholdAlert>(row)) };
}

/** How often the database is asked for alerts, at the most; a critical one may not wait long. */
const askEveryMs = 5_000;

/** What is under way when the client closes may go on for so long. */
const closeWithinMs = 5_000;

/** How many are told at once. */
const atOnce = 10;

/** How long a call of the database may take. */
const callWithinMs = 30_000;

/** As long as SQL leaves an alert to who claimed it; a hook that hangs is waited for no longer. */
const tellWithinMs = 60_000;

/** Hands alerts to the hook of a client, each at least once over all clients that have one. */
export class Alerts {
  readonly #parts: Pick<ClientParts, "database" | "events" | "log">;
  readonly #onAlert: OnAlert | undefined;
  #askAt = 0;
  #underWay: Promise<void> | undefined;
  #closed = false;

  constructor(
    parts: Pick<ClientParts, "database" | "events" | "log">,
    onAlert: OnAlert | undefined,
  ) {
    this.#parts = parts;
    this.#onAlert = onAlert;
  }

  /** Starts to tell what is new, as far as it is time. Never throws, and waits for nothing. */
  inPassing(): void {
    if (performance.now() >= this.#askAt) void this.now();
  }

  /** Tells what is new. Never rejects. */
  async now(): Promise<void> {
    if (this.#onAlert === undefined || this.#closed) return;
    this.#askAt = performance.now() + askEveryMs;
    this.#underWay ??= this.#tell(this.#onAlert).finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
  }

  /** Tells nothing more; waits for what is under way, for a while. */
  async close(): Promise<void> {
    this.#closed = true;
    await settledWithin(this.#underWay ?? Promise.resolve(), closeWithinMs);
  }

  async #tell(onAlert: OnAlert): Promise<void> {
    const { database } = this.#parts;
    try {
      const claiming = database.call("claim_alerts", { p_limit: atOnce });
      const claimed = (await inTime(claiming, callWithinMs)) as object[];
      const telling = claimed.map((row) => this.#tellOne(onAlert, camelCase<LeaseholdAlert>(row)));
      await settledWithin(Promise.all(telling), tellWithinMs);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** By itself: one that can't be told must not keep the others from being told. Never rejects. */
  async #tellOne(onAlert: OnAlert, alert: LeaseholdAlert): Promise<void> {
    const { database, log } = this.#parts;
    try {
      log.error({ alert }, "an alert");
      await onAlert(alert);
      await inTime(database.call("finish_alerts", { p_ids: [String(alert.id)] }), callWithinMs);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const { events, log } = this.#parts;
    log.error({ err: describeError(error) }, "an alert could not be told; it will be told again");
    events.emit("error", { error, during: "alert" });
  }
}
