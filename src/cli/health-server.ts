import { createServer, type Server } from "node:http";
import type { WorkerHealth } from "../worker.ts";
import { exitCodes } from "./exit-codes.ts";
import { CliError } from "./failure.ts";

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
export function startHealthServer(
  { port, host }: { port: number; host: string | undefined },
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
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => reject(cannotListen(port, cause)));
    server.listen({ port, host }, () => {
      server.unref();
      resolve({ port: portOf(server), close: () => closeNow(server) });
    });
  });
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

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Also the connections that a prober keeps open. */
function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}

function cannotListen(port: number, cause: Error): CliError {
  const hint = "Give another --health-port; 0 takes any that is free.";
  return new CliError(exitCodes.failed, `Port ${port}: ${cause.message}.`, hint, { cause });
}
