import type { Connection } from "./connection.ts";
import { type JobSnapshot, Poller, unasked } from "./poller.ts";

/** One poller for each job that somebody wants to know of. */
const pollers = new WeakMap<Connection, Map<string, Poller>>();

/** Joins the job's poller; the first one starts it, the last one to leave ends it. */
export function subscribe(connection: Connection, id: string, listener: () => void): () => void {
  const known = pollers.get(connection) ?? new Map<string, Poller>();
  pollers.set(connection, known);
  const poller = known.get(id) ?? new Poller(connection, id, () => known.delete(id));
  known.set(id, poller);
  return poller.subscribe(listener);
}

/** What is known of the job; makes no poller, since a component that only renders wants none yet. */
export function snapshot(connection: Connection, id: string): JobSnapshot {
  return pollers.get(connection)?.get(id)?.snapshot ?? unasked;
}

/** Has the job asked for now, where somebody wants to know of it. */
export async function refresh(connection: Connection, id: string): Promise<void> {
  await pollers.get(connection)?.get(id)?.refresh();
}
