import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JobView } from "../../../src/react/index.ts";

/** A job as the routes answer it: queued, unless told otherwise. */
export function view(id: string, more: Partial<JobView> = {}): JobView {
  return {
    id,
    status: "queued",
    progress: null,
    result: null,
    errorCode: null,
    cancelRequested: false,
    money: null,
    notice: more.status ?? "queued",
    message: "Waiting to start.",
    createdAt: "2026-11-02T10:00:00.000Z",
    startedAt: null,
    finishedAt: null,
    ...more,
  };
}

export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface Reply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Leasehold's routes as the door expects them, over an object of jobs. */
export interface JobServer {
  readonly origin: string;
  readonly jobs: Map<string, JobView>;
  readonly heard: Heard[];
  /** Answers in place of the routes, each once. A promise holds the request until it resolves. */
  readonly instead: (Reply | "hang up" | Promise<Reply>)[];
  /** How many requests ended before they were answered. */
  aborted: number;
  close(): Promise<void>;
}

export function error(status: number, code: string, more: object = {}): Reply {
  return { status, body: { error: { code, message: `${code} in words`, ...more } } };
}

export async function startServer(): Promise<JobServer> {
  const http = createServer((request, response) => void answer(server, request, response));
  const server: JobServer = {
    origin: "",
    jobs: new Map(),
    heard: [],
    instead: [],
    aborted: 0,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return Object.assign(server, { origin: `http://127.0.0.1:${port}` });
}

async function answer(server: JobServer, request: IncomingMessage, response: ServerResponse) {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { method = "", url = "", headers } = request;
  server.heard.push({ method, url, headers, body });
  response.on("close", () => {
    if (!response.writableFinished) server.aborted += 1;
  });
  const instead = server.instead.shift();
  if (instead === "hang up") return request.socket.destroy();
  const reply = (await instead) ?? route(server, request, body);
  const text = reply.body === undefined ? "" : JSON.stringify(reply.body);
  const all = { "content-type": "application/json", "cache-control": "no-store" };
  response.writeHead(reply.status, { ...all, ...reply.headers }).end(text);
}

function route(server: JobServer, request: IncomingMessage, body: string): Reply {
  const [, kindOrId = "", action] =
    /^\/api\/leasehold\/jobs\/([^/]+)(?:\/(\w+))?$/.exec(request.url ?? "") ?? [];
  const job = server.jobs.get(decodeURIComponent(kindOrId));
  if (request.method === "POST" && action === undefined) return started(server, kindOrId, body);
  if (job === undefined) return error(404, "NOT_FOUND");
  if (action === "cancel") {
    server.jobs.set(job.id, { ...job, status: "cancelled", notice: "cancelled" });
    return { status: 200, body: { outcome: "cancelled", status: "cancelled" } };
  }
  const etag = `W/"${JSON.stringify(job).length}-${job.status}"`;
  const headers = { etag, "retry-after": "0" };
  if (request.headers["if-none-match"] === etag) return { status: 304, headers };
  return { status: 200, headers, body: job };
}

function started(server: JobServer, kind: string, body: string): Reply {
  if (!body.startsWith("{")) return error(400, "BAD_PAYLOAD");
  const id = `${kind}-${server.jobs.size + 1}`;
  server.jobs.set(id, view(id));
  return { status: 202, body: { id, statusUrl: `/api/leasehold/jobs/${id}` } };
}
