/**
 * PGlite lives in one process. This lets others call leasehold's functions through that process:
 * one JSON object a line over a Unix domain socket (a named pipe on Windows), requests and answers
 * matched by an id, so that calls of one worker may overlap.
 *
 * Only single calls travel. A transaction held open across a socket would keep PGlite, which has one
 * connection, from everybody else for as long as a worker cares to think.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import {
  type Arguments,
  type Database,
  type ErrorCode,
  type FunctionName,
  LeaseholdError,
  leaseholdError,
} from "leasehold";

interface Request {
  readonly id: number;
  readonly name: FunctionName;
  readonly args: Arguments;
}

type Answer =
  | { readonly id: number; readonly value?: unknown }
  | { readonly id: number; readonly error: WireError };

interface WireError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  /** Only a LeaseholdError has one, and is known by it at the other end. */
  readonly hint?: string;
}

/** The path of the socket inside `folder`; who may open that folder may call the database. */
export function socketPath(folder: string): string {
  // A path over about 100 bytes is refused by the operating system: keep the folder near the root.
  return process.platform === "win32"
    ? `\\\\.\\pipe\\${folder.replace(/[^\w]/g, "-")}`
    : `${folder}/database.sock`;
}

export interface DatabaseServer {
  /** Drops the workers' connections and the socket; the database stays open. */
  close(): Promise<void>;
}

/** Serves `call` of a database to whoever opens the socket. Run it in the process that owns PGlite. */
export async function serveDatabase(database: Database, path: string): Promise<DatabaseServer> {
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.once("close", () => clients.delete(socket));
    // A killed worker: what it had called runs to its end here, the answers go nowhere.
    socket.on("error", () => {});
    onLines(socket, async (line) => {
      const answer = await answerTo(database, line);
      if (answer === undefined) socket.destroy();
      else if (socket.writable) socket.write(`${answer}\n`);
    });
  });
  server.listen(path);
  await once(server, "listening");
  return { close: () => closeServer(server, clients) };
}

async function closeServer(server: Server, clients: Set<Socket>): Promise<void> {
  server.close();
  for (const socket of clients) socket.destroy();
  await once(server, "close");
}

/** One line for one line; undefined for what is no request, since then nothing that follows is. */
async function answerTo(database: Database, line: string): Promise<string | undefined> {
  const request = parse(line) as Partial<Request> | undefined;
  if (request === undefined || typeof request.id !== "number") return undefined;
  const { id, name, args = {} } = request;
  // The name becomes part of a statement.
  if (typeof name !== "string" || !/^[a-z_]+$/.test(name)) return undefined;
  try {
    const value = await database.call(name, args);
    return JSON.stringify({ id, value } satisfies Answer);
  } catch (error) {
    return JSON.stringify({ id, error: encodeError(error) } satisfies Answer);
  }
}

/**
 * The database as a worker sees it. Connects at the first call and again at the next call after a
 * loss; the calls that were open are rejected, since whether they ran can't be known from here.
 * (leasehold is made for that: a lost claim comes back with its lease, complete may be repeated.)
 * Keeps the process alive while it is connected: call `close` at the end.
 */
export function socketDatabase(path: string, schema = "leasehold"): Database {
  let link: Promise<Link> | undefined;
  const connected = (): Promise<Link> => {
    if (link) return link;
    const forget = (): void => {
      if (link === opening) link = undefined;
    };
    const opening = openLink(path, forget);
    opening.catch(forget);
    link = opening;
    return opening;
  };
  return {
    schema,
    call: async (name, args) => (await connected()).call(name, args),
    close: async () => {
      const open = await link?.catch(() => undefined);
      open?.close();
    },
  };
}

interface Link {
  call(name: FunctionName, args: Arguments): Promise<unknown>;
  close(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

async function openLink(path: string, lost: () => void): Promise<Link> {
  const socket = connect(path);
  const open = new Map<number, Waiting>();
  let lastId = 0;
  socket.once("close", () => {
    lost();
    for (const { reject } of open.values()) reject(connectionLost());
    open.clear();
  });
  await once(socket, "connect");
  socket.on("error", () => {}); // "close" follows, and tells those who wait
  onLines(socket, (line) => settle(open, line));
  return {
    call: (name, args) =>
      new Promise((resolve, reject) => {
        if (!socket.writable) return reject(connectionLost());
        const id = ++lastId;
        const request = JSON.stringify({ id, name, args } satisfies Request);
        open.set(id, { resolve, reject });
        socket.write(`${request}\n`);
      }),
    close: () => socket.destroy(),
  };
}

function settle(open: Map<number, Waiting>, line: string): void {
  const answer = JSON.parse(line) as Answer;
  const waiting = open.get(answer.id);
  open.delete(answer.id);
  if ("error" in answer) waiting?.reject(decodeError(answer.error));
  else waiting?.resolve(answer.value);
}

/** Not readline: it also splits at U+2028 and U+2029, which JSON leaves as they are. */
function onLines(socket: Socket, receive: (line: string) => void): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) receive(line);
  });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) ?? undefined;
  } catch {
    return undefined;
  }
}

function encodeError(error: unknown): WireError {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message, code } = error as NodeJS.ErrnoException;
  if (!(error instanceof LeaseholdError)) {
    return { name, message, ...(typeof code === "string" && { code }) };
  }
  // leaseholdError puts the hint behind the problem, at the other end once more.
  const problem = message.endsWith(`. ${error.hint}`)
    ? message.slice(0, -error.hint.length - 2)
    : message;
  return { name, message: problem, code: error.code, hint: error.hint };
}

function decodeError({ name, message, code, hint }: WireError): Error {
  if (hint !== undefined) return leaseholdError(code as ErrorCode, message, hint);
  return Object.assign(new Error(message), { name, ...(code !== undefined && { code }) });
}

function connectionLost(): Error {
  const message = "The process that owns the database is gone; the call may or may not have run";
  return Object.assign(new Error(message), { code: "ECONNRESET" });
}
