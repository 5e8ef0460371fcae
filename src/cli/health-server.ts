import { createServer } from "node:http";
import type { WorkerHealth } from "../worker.ts";
import { closeNow, listen } from "./listening.ts";

export interface HealthServer {
  /** The port that it listens on. */
  readonly port: number;
  close(): void;
}

/**
 * Answers whoever watches over the process: `GET /livez` is 200 as long as the worker has not ended
 * and its event loop turns; `GET /readyz` is 200 while it can take jobs, and 503 while it begins,
 * stops, or can't ask the database. A database that is away makes no worker dead: to restart it
 * would help nobody. Both answer `worker.health()` as JSON, without the database's error, which may
 * name hosts and users; an empty object before there is a worker.
 */
export async function startHealthServer(
  address: { port: number; host: string | undefined },
  health: () => WorkerHealth | undefined,
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const { error: _, ...shown } = health() ?? {};
    const { status, body } = answer(request.method, request.url, shown);
    response.writeHead(status, {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...(status === 405 && { allow: "GET, HEAD" }),
    });
    response.end(request.method === "HEAD" ? undefined : `${JSON.stringify(body)}\n`);
  });
  const taken = await listen(server, address, "--health-port");
  server.unref();
  return { port: taken, close: () => closeNow(server) };
}

function answer(
  method = "",
  url = "",
  health: Partial<WorkerHealth>,
): { status: number; body: object } {
  if (method !== "GET" && method !== "HEAD") {
    return { status: 405, body: failure("METHOD_NOT_ALLOWED", "only GET and HEAD") };
  }
  switch (url.split("?")[0]) {
    case "/livez":
      return { status: health.state === "stopped" ? 503 : 200, body: health };
    case "/readyz":
      return { status: health.ready ? 200 : 503, body: health };
    default:
      return { status: 404, body: failure("NOT_FOUND", "there are /livez and /readyz") };
  }
}

function failure(code: string, message: string): object {
  return { error: { code, message } };
}
