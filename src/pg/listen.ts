import {
  answerTypes,
  type ListenHooks,
  type Listening,
  quoteIdentifier,
  sqlCaller,
} from "../database.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import type { PgListenClientLike, PgPoolLike } from "./like.ts";

/** How long a dead connection may take to say goodbye before its socket is destroyed. */
const goodbyeMs = 500;

const connectTimeoutMs = 10_000;

/**
 * Opens a client beside the pool, with the pool's own options: a pooled one would be missing to the
 * application, and a pool of one connection would have none left. `url` names another way to the
 * same database, past a transaction pooler, which would swallow the notifications.
 *
 * Null where the pool does not tell how it makes its clients.
 */
export async function openListener(
  pool: PgPoolLike,
  schema: string,
  url: string | undefined,
  hooks: ListenHooks,
): Promise<Listening | null> {
  const { Client, options } = pool;
  if (Client === undefined || options === undefined) return null;
  const client = new Client(listenOptions(options, url));
  let listening = false;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    listening = false;
    closing ??= end(client);
    return closing;
  };
  let lost: Error | undefined;
  const lose = (error: Error): void => {
    if (lost !== undefined) return;
    lost = error;
    if (listening) hooks.onLost(error);
  };
  client.on("error", lose);
  client.on("end", () => lose(new Error("the listening connection was closed")));
  client.on("notification", ({ channel, payload = "" }) => {
    if (channel === schema && lost === undefined) hooks.onNotification(payload);
  });
  try {
    await client.connect();
    await client.query({ text: `listen ${quoteIdentifier(schema)}` });
    if (lost !== undefined) throw lost;
  } catch (error) {
    await close();
    throw error;
  }
  listening = true;
  const call = sqlCaller(schema, async (text, values) => {
    return (await client.query({ text, values, types: answerTypes })).rows;
  });
  const check = (): void => {
    if (lost !== undefined) throw lost;
  };
  return { call: oneAtATime(call, check), close };
}

/** A pool keeps its password out of sight of `{ ...options }`. */
function listenOptions(options: { password?: unknown }, url: string | undefined): object {
  return {
    connectionTimeoutMillis: connectTimeoutMs,
    ...options,
    ...(options.password !== undefined && { password: options.password }),
    ...(url !== undefined && { connectionString: url }),
    keepAlive: true,
  };
}

async function end(client: PgListenClientLike): Promise<void> {
  const timer = setTimeout(() => client.connection?.stream?.destroy?.(), goodbyeMs);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
