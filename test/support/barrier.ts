import type { Queryable } from "./queryable.ts";

const TIMEOUT_MS = 10_000;

/**
 * Waits until the backend `pid` waits for a lock: then its rival may go on, and the race is staged.
 * Ask on a connection that is in no transaction, for a transaction keeps its first look.
 */
export async function waitForLock(admin: Pick<Queryable, "query">, pid: number): Promise<void> {
  await waitForBackends(admin, "pid = $1", pid, (backends) => {
    return backends[0]?.wait_event_type === "Lock";
  });
}

/** Waits until `count` backends of the same database wait for a lock. */
export async function waitForLocks(admin: Pick<Queryable, "query">, count: number): Promise<void> {
  await waitForBackends(
    admin,
    "datname = current_database() and wait_event_type = 'Lock' and $1::int is not null",
    count,
    (backends) => backends.length >= count,
  );
}

async function waitForBackends(
  admin: Pick<Queryable, "query">,
  where: string,
  value: number,
  done: (backends: Record<string, unknown>[]) => boolean,
): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  for (;;) {
    const backends = await admin.query(
      `select pid, state, wait_event_type, wait_event, left(query, 200) as query
       from pg_stat_activity where ${where}`,
      [value],
    );
    if (done(backends)) return;
    if (performance.now() > end) throw timeoutError(value, backends);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function timeoutError(value: number, backends: Record<string, unknown>[]): Error {
  const found = backends.length === 0 ? "there is none" : JSON.stringify(backends);
  return new Error(`No Lock wait within ${TIMEOUT_MS} ms (asked for ${value}): ${found}`);
}
