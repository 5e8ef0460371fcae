import { readText } from "./frames.ts";

/** A message of PostgreSQL's protocol: its type, its length, and its parts one after the other. */
export function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  // A text ends with a zero byte.
  const body = parts.map((part) => (typeof part === "string" ? Buffer.from(`${part}\0`) : part));
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(4 + body.reduce((sum, { length }) => sum + length, 0), 1);
  return Buffer.concat([head, ...body]);
}

export function int32(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [i, number] of numbers.entries()) bytes.writeInt32BE(number, 4 * i);
  return bytes;
}

/** What clients are told. */
export const authenticationOk = message("R", int32(0));
export const noticeOfCopyIn = (binary: boolean): Buffer =>
  message("G", Buffer.from([binary ? 1 : 0, 0, 0]));
export const readyForQuery = (status: Status): Buffer => message("Z", Buffer.from(status));
export const parameterStatus = (name: string, value: string): Buffer => message("S", name, value);
export const backendKeyData = (id: number, secret: number): Buffer =>
  message("K", int32(id, secret));
export const notification = (id: number, channel: string, payload: string): Buffer =>
  message("A", int32(id), channel, payload);

/** What the session is told by us. */
export const query = (sql: string): Buffer => message("Q", sql);
export const sync = message("S");
/** Fails the batch that is under way, by a statement that nobody has prepared, and ends it. */
export const abandonBatch = Buffer.concat([
  message("B", "", "leasehold_abandoned", Buffer.alloc(6)),
  sync,
]);
export const closeStatement = (name: string): Buffer => message("C", Buffer.from("S"), name);
/** A client's COPY that reads from it gets this; for anything else it means nothing. */
export const noCopyData = message("f", "COPY FROM STDIN works here as a single simple query alone");

/** Idle, in a transaction, in a failed one: what ReadyForQuery tells. */
export type Status = "I" | "T" | "E";

/** An error in the fields of PostgreSQL. */
export interface WireError {
  readonly severity: "ERROR" | "FATAL";
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

export function errorResponse({ severity, code, message: text, hint }: WireError): Buffer {
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${text}`];
  if (hint !== undefined) fields.push(`H${hint}`);
  return message("E", ...fields, Buffer.alloc(1));
}

/** The code and the message of an ErrorResponse. */
export function readError(frame: Buffer): { code: string; message: string } {
  const fields = new Map<string, string>();
  for (let at = 5; frame[at]; ) {
    const { text, next } = readText(frame, at);
    fields.set(text.slice(0, 1), text.slice(1));
    at = next;
  }
  return { code: fields.get("C") ?? "XX000", message: fields.get("M") ?? "no message" };
}

/** The columns of a DataRow, as text. */
export function readRow(frame: Buffer): (string | null)[] {
  const columns: (string | null)[] = [];
  let at = 7;
  for (let left = frame.readInt16BE(5); left > 0; left -= 1) {
    const length = frame.readInt32BE(at);
    at += 4;
    columns.push(length < 0 ? null : frame.toString("utf8", at, at + length));
    at += Math.max(length, 0);
  }
  return columns;
}
