import type { Alerts } from "./alerts.ts";
import type { Database } from "./database.ts";
import type { Handled } from "./define.ts";
import { leaseholdError } from "./errors.ts";
import type { Events } from "./events.ts";
import type { Housekeeping } from "./housekeeping.ts";
import { inTime } from "./in-time.ts";
import type { LeaseholdEvents } from "./job-event.ts";
import { LeaseWheel } from "./lease-wheel.ts";
import type { Logger } from "./logger.ts";
import { reconcileHandler } from "./reconcile.ts";
import type { Sweeps } from "./sweep.ts";
import type { Telemetry } from "./telemetry.ts";

/** What the ways to run jobs share of a client. */
export interface ClientParts {
  readonly database: Database;
  /** Renews the leases of all jobs that this client runs. */
  readonly leases: LeaseWheel;
  readonly events: Events<LeaseholdEvents>;
  readonly log: Logger;
  readonly telemetry: Telemetry | undefined;
  /** Hands alerts to the client's hook. */
  readonly alerts: Alerts;
  /** What traffic starts in passing; housekeeping is a part of it. */
  readonly sweeps: Sweeps;
  readonly housekeeping: Housekeeping;
  /** The handler of a kind. Throws LH105. */
  handlerOf(kind: string): Handled;
  /** The kinds that have a handler: one list for ever, that `replaceHandlers` changes in place. */
  readonly kinds: readonly string[];
  /** What was given as `handlers`. */
  handlers(): readonly Handled[];
  /** Other handlers from now on; what a kind that is gone has in hand or claimed goes on with its old. */
  replaceHandlers(handlers: readonly Handled[]): void;
  /** Tells the database the defaults of these kinds, once. */
  defineKinds(): Promise<void>;
}

/** A definition that hangs must not keep a worker from ever beginning, and without a word. */
const defineWithinMs = 30_000;

/** Makes the lookup of handlers and the once-only definition of their kinds. */
export function handlerParts(
  database: Database,
  given: readonly Handled[],
): Pick<
  ClientParts,
  "leases" | "kinds" | "handlers" | "replaceHandlers" | "handlerOf" | "defineKinds"
> {
  const byKind = new Map<string, Handled>();
  const kinds: string[] = [];
  let handlers = given;
  let defined: Promise<unknown> | undefined;
  const parts = {
    leases: new LeaseWheel(database.call.bind(database)),
    kinds,
    handlers: () => handlers,
    replaceHandlers(replacing: readonly Handled[]) {
      handlers = replacing;
      defined = undefined;
      const looks = reconcileHandler(handlers);
      const all = looks === undefined ? handlers : [...handlers, looks];
      for (const handled of all) byKind.set(handled.definition.kind, handled);
      kinds.splice(0, kinds.length, ...all.map((handled) => handled.definition.kind));
    },
    handlerOf(kind: string) {
      const handled = byKind.get(kind);
      if (handled === undefined) throw noHandler(kind);
      return handled;
    },
    async defineKinds() {
      defined ??= Promise.all(handlers.map((handled) => defineKind(database, handled)));
      await defined.catch((error: unknown) => {
        defined = undefined;
        throw error;
      });
    },
  };
  parts.replaceHandlers(given);
  return parts;
}

async function defineKind(database: Database, { definition }: Handled): Promise<void> {
  const { kind, settings } = definition;
  const defining = database.call("define_kind", {
    p_kind: kind,
    // Null takes the library's default again, where a definition has dropped an option.
    p_defaults: {
      max_attempts: settings.maxAttempts ?? null,
      backoff_ms: settings.backoffMs ?? null,
      lease_ms: settings.leaseMs ?? null,
      timeout_ms: settings.timeoutMs ?? null,
      start_within_ms: settings.startWithinMs ?? null,
      retain_ms: settings.retainMs ?? null,
    },
  });
  await inTime(defining, defineWithinMs);
}

function noHandler(kind: string): Error {
  return leaseholdError(
    "LH105",
    `No handler is registered for the kind ${JSON.stringify(kind)}`,
    "Pass handle(definition, fn) in `handlers` of createLeasehold.",
  );
}
