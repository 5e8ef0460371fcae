import { type ListenHooks, type Listening, quoteIdentifier } from "../database.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import { caller } from "./caller.ts";
import type { PostgresLike } from "./like.ts";
import { loadDriver } from "./own-instance.ts";
import { socketKeepers } from "./socket.ts";

/** How long a dead connection may take to say goodbye before its socket is destroyed. */
const goodbyeSeconds = 0.5;

/**
 * Opens an instance of one connection beside the given one, with that one's options, as postgres.js
 * does for its own `listen`: a connection of the pool would be missing to the application. `url`
 * names another way to the same database, past a transaction pooler, which would swallow the
 * notifications.
 *
 * Null where the given instance does not tell its options, or the package `postgres` is missing.
 */
export async function openListener(
  { options }: PostgresLike,
  schema: string,
  url: string | undefined,
  hooks: ListenHooks,
): Promise<Listening | null> {
  const create = await loadDriver().catch(() => undefined);
  if (create === undefined || (url === undefined && options === undefined)) return null;
  const keeper = (await socketKeepers(url === undefined ? options : undefined))();
  const state: State = { listening: false, lost: undefined };
  const settings = {
    ...(url === undefined ? options : { connection: { application_name: "leasehold" } }),
    ...listenerOptions(schema, hooks, state),
    ...keeper.options,
  };
  const sql = url === undefined ? create(settings) : create(url, settings);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    state.listening = false;
    closing ??= sql.end({ timeout: goodbyeSeconds }).then(keeper.destroy, keeper.destroy);
    return closing;
  };
  try {
    await sql.unsafe(`listen ${quoteIdentifier(schema)}`);
    if (state.lost !== undefined) throw state.lost;
  } catch (error) {
    await close();
    throw error;
  }
  state.listening = true;
  // postgres.js connects anew for a statement that finds the connection gone, or that waits in its
  // queue when it goes; the new connection would answer, and hear nothing.
  const check = (): void => {
    if (state.lost !== undefined) throw state.lost;
  };
  return { call: oneAtATime(caller(sql, schema), check), close };
}

interface State {
  listening: boolean;
  lost: Error | undefined;
}

function listenerOptions(schema: string, hooks: ListenHooks, state: State): object {
  return {
    max: 1,
    // Nothing else may end the connection, since postgres.js would replace it in silence.
    idle_timeout: null,
    max_lifetime: null,
    fetch_types: false,
    prepare: false,
    onnotice: () => undefined,
    onnotify: (channel: string, payload: string) => {
      if (channel === schema && state.lost === undefined) hooks.onNotification(payload);
    },
    onclose: () => {
      if (state.lost !== undefined) return;
      state.lost = new Error("the listening connection was closed");
      if (state.listening) hooks.onLost(state.lost);
    },
  };
}
