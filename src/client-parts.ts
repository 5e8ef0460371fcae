import type { Database } from "./database.ts";
import type { Handled } from "./define.ts";
import { leaseholdError } from "./errors.ts";
import type { Events } from "./events.ts";
import { inTime } from "./in-time.ts";
import type { LeaseholdEvents } from "./job-event.ts";
import { LeaseWheel } from "./lease-wheel.ts";
import type { Logger } from "./logger.ts";

/** What the ways to run jobs share of a client. */
export interface ClientParts {
  readonly database: Database;
  /** Renews the leases of all jobs that this client runs. */
  readonly leases: LeaseWheel;
  readonly events: Events<LeaseholdEvents>;
  readonly log: Logger;
  /** The handler of a kind. Throws LH105. */
  handlerOf(kind: string): Handled;
  /** The kinds that have a handler. */
  readonly kinds: readonly string[];
  /** Tells the database the defaults of these kinds, once. */
  defineKinds(): Promise<void>;
}

const extendWithinMs = 30_000;

/** A definition that hangs must not keep a worker from ever beginning, and without a word. */
const defineWithinMs = 30_000;

/** Makes the lookup of handlers and the once-only definition of their kinds. */
export function handlerParts(
  database: Database,
  handlers: readonly Handled[],
): Pick<ClientParts, "leases" | "handlerOf" | "kinds" | "defineKinds"> {
  const byKind = new Map(handlers.map((handled) => [handled.definition.kind, handled]));
  let defined: Promise<unknown> | undefined;
  return {
    // A renewal that hangs must not keep an attempt from its end.
    leases: new LeaseWheel((name, args) => inTime(database.call(name, args), extendWithinMs)),
    kinds: [...byKind.keys()],
    handlerOf(kind) {
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
