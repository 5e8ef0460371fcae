import type { Socket } from "node:net";
import { ProtocolError } from "./frames.ts";
import type { Inbox } from "./inbox.ts";
import {
  authenticationOk,
  backendKeyData,
  errorResponse,
  int32,
  message,
  parameterStatus,
  readyForQuery,
} from "./messages.ts";

/** The one database there is. */
export const databaseName = "postgres";

/** How long a client may take to say what it wants. */
const startupWithinMs = 10_000;

const sslRequest = 80877103;
const gssRequest = 80877104;
const cancelRequest = 80877102;

/**
 * Reads how a client introduces itself and answers with what it asks for; nobody is asked for a
 * password. Answers its startup parameters; undefined where it wanted something else than a session
 * (to cancel a statement: none runs while this process listens) or is not to have one.
 */
export async function startUp(
  id: number,
  inbox: Inbox,
  socket: Socket,
  reported: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string> | undefined> {
  for (;;) {
    const frame = await inbox.next(startupWithinMs, { typed: false });
    if (typeof frame === "string" || frame.length < 8) return undefined;
    const code = frame.readInt32BE(4);
    if (code === cancelRequest) return undefined;
    if (code === sslRequest || code === gssRequest) {
      socket.write("N");
      continue;
    }
    if (code >> 16 !== 3) throw new ProtocolError(`protocol version ${code >> 16}`);
    const parameters = parametersOf(frame);
    if ((code & 0xffff) > 0) socket.write(olderVersion(parameters));
    return welcome(id, socket, parameters, reported) ? parameters : undefined;
  }
}

function parametersOf(frame: Buffer): ReadonlyMap<string, string> {
  const texts = frame.toString("utf8", 8).split("\0");
  const parameters = new Map<string, string>();
  for (let i = 0; texts[i]; i += 2) parameters.set(texts[i] as string, texts[i + 1] ?? "");
  return parameters;
}

/** NegotiateProtocolVersion: 3.0, and none of its extensions. */
function olderVersion(parameters: ReadonlyMap<string, string>): Buffer {
  const unknown = [...parameters.keys()].filter((name) => name.startsWith("_pq_."));
  return message("v", int32(0x30000, unknown.length), ...unknown);
}

function welcome(
  id: number,
  socket: Socket,
  parameters: ReadonlyMap<string, string>,
  reported: ReadonlyMap<string, string>,
): boolean {
  const database = parameters.get("database") ?? parameters.get("user");
  const replication = !["false", "off", "no", "0"].includes(parameters.get("replication") ?? "off");
  if (database !== databaseName || replication) {
    const what = replication
      ? { code: "0A000", message: "an embedded database has no replication" }
      : { code: "3D000", message: `database "${database}" does not exist` };
    const hint = `This is an embedded database with one database, "${databaseName}".`;
    socket.write(errorResponse({ severity: "FATAL", ...what, hint }));
    return false;
  }
  const own = [...reported].map(([name, value]) =>
    parameterStatus(name, parameters.get(name) ?? value),
  );
  socket.write(
    Buffer.concat([authenticationOk, ...own, backendKeyData(id, 0), readyForQuery("I")]),
  );
  return true;
}

/** What a client is told of at its start, as PostgreSQL would. Some drivers can't do without. */
export const reportedSettings = [
  "application_name",
  "client_encoding",
  "DateStyle",
  "default_transaction_read_only",
  "in_hot_standby",
  "integer_datetimes",
  "IntervalStyle",
  "scram_iterations",
  "search_path",
  "server_encoding",
  "server_version",
  "standard_conforming_strings",
  "TimeZone",
];
