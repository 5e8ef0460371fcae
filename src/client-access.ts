import type { ClientParts } from "./client-parts.ts";
import { describeError } from "./describe-error.ts";
import type { LeaseholdEvents } from "./job-event.ts";
import type { JoinedDrains } from "./joined-drains.ts";

/** What a door may do with a client, beyond what its users may. */
export interface ClientAccess
  extends Pick<ClientParts, "handlers" | "kinds" | "replaceHandlers" | "log"> {
  /** The drains that requests ask for. */
  readonly drains: JoinedDrains;
  /** Tells the log and the listeners of a failure that no caller waits for. */
  failed(error: unknown, during: LeaseholdEvents["error"]["during"], message: string): void;
}

// On the client, and the same symbol in every copy of the package: a framework that bundles its
// parts apart gives each a copy, and clients go from one to the other.
const access: unique symbol = Symbol.for("leasehold.access.1");

/** Answers `client` itself, with what doors may do with it out of its users' sight. */
export function withAccess<Client extends object>(
  { handlers, kinds, replaceHandlers, log, events }: ClientParts,
  drains: JoinedDrains,
  client: Client,
): Client {
  const value: ClientAccess = {
    handlers,
    kinds,
    replaceHandlers,
    log,
    drains,
    failed(error, during, message) {
      log.error({ err: describeError(error), during }, message);
      events.emit("error", { error, during });
    },
  };
  return Object.defineProperty(client, access, { value });
}

/** Undefined for what is no client, or a client that somebody has rebuilt. */
export function accessOf(client: object): ClientAccess | undefined {
  return (client as { [access]?: ClientAccess })[access];
}
