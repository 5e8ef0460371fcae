import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { OwnPGlite } from "../like.ts";
import { Connection, type Patience } from "./connection.ts";
import { ProtocolError } from "./frames.ts";
import { Inbox } from "./inbox.ts";
import { errorResponse } from "./messages.ts";
import { SharedSession } from "./session.ts";
import { databaseName, reportedSettings, startUp } from "./startup.ts";

export interface WireServerOptions extends Partial<Patience> {
  /** 0, the default, takes any that is free. */
  port?: number;
  /** PGlite broke down: no call will be answered any more. At most once. */
  onLost?: (error: Error) => void;
}

export interface WireServer {
  readonly port: number;
  /** What a driver connects by. */
  readonly url: string;
  /** Ends the connections, rolling back what is open, and waits for that. PGlite stays open. */
  close(): Promise<void>;
}

const host = "127.0.0.1";

/**
 * Serves a PGlite to other processes of this machine as a PostgreSQL server, without a password.
 *
 * Any number of connections share its one session. A connection has it from the first message of a
 * batch to its end, and while it is in a transaction; then it is the next one's turn, be that a
 * connection or a call of this process. Prepared statements, settings and LISTEN are each
 * connection's own; temporary tables and advisory locks of a session are everybody's, until the last
 * connection has gone. Statements can't be cancelled, and nothing else happens while one runs.
 *
 * Rejects where the port can't be had (EADDRINUSE, EACCES).
 */
export async function serveWire(
  db: OwnPGlite,
  { port = 0, idleMs = 60_000, turnMs = 120_000, onLost = () => undefined }: WireServerOptions = {},
): Promise<WireServer> {
  const session = new SharedSession(db, onLost);
  const reported = await readReported(session);
  const open = new Map<Socket, Promise<void>>();
  let lastId = 0;

  async function serve(socket: Socket): Promise<void> {
    const id = ++lastId;
    const inbox = new Inbox(socket);
    const { channels } = db.wire;
    let connection: Connection | undefined;
    try {
      const startup = await startUp(id, inbox, socket, reported);
      if (startup === undefined) return;
      const patience = { idleMs, turnMs };
      connection = new Connection({ id, socket, inbox, session, channels, patience, startup });
      await connection.run();
    } catch (error) {
      socket.write(fatal(error));
    } finally {
      socket.end();
      socket.destroySoon();
      await connection?.cleanUp(open.size === 1).catch(() => undefined);
      open.delete(socket);
    }
  }

  const server = createServer({ noDelay: true }, (socket) => {
    open.set(socket, serve(socket));
  });
  server.listen(port, host);
  await once(server, "listening");
  server.on("error", () => undefined); // no descriptor is left for one more: the others go on
  const actual = (server.address() as AddressInfo).port;
  return {
    port: actual,
    url: `postgres://postgres@${host}:${actual}/${databaseName}`,
    close: () => closeServer(server, open),
  };
}

async function closeServer(server: Server, open: Map<Socket, Promise<void>>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const goodbye = errorResponse({
    severity: "FATAL",
    code: "57P01",
    message: "the embedded database is shut down",
  });
  for (const socket of open.keys()) {
    if (socket.writable) socket.end(goodbye);
    socket.destroySoon();
  }
  await Promise.all(open.values());
  await closed;
}

async function readReported(session: SharedSession): Promise<ReadonlyMap<string, string>> {
  const names = reportedSettings.map((name) => `'${name}'`).join(", ");
  let rows: (string | null)[][] = [];
  await session.turn(0, Number.POSITIVE_INFINITY, async () => {
    rows = await session.query(
      `select name, setting from pg_catalog.pg_settings where name in (${names})`,
    );
  });
  const fixed = [
    ["is_superuser", "on"],
    ["session_authorization", "postgres"],
  ] as const;
  return new Map([...(rows as [string, string][]), ...fixed]);
}

function fatal(error: unknown): Buffer {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof ProtocolError ? "08P01" : "57P02";
  return errorResponse({ severity: "FATAL", code, message });
}
