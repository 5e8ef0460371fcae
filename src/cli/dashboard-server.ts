import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { DashboardHandler } from "../dashboard/index.ts";
import { closeNow, listen } from "./listening.ts";

export interface DashboardServer {
  readonly url: string;
  close(): void;
}

const maxBodyBytes = 1_000_000;

/** Whose addresses only this machine reaches. */
const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

/** Serves the page at "/", and nothing else. Rejects with a CliError where it can't listen. */
export async function startDashboardServer(
  address: { port: number; host: string },
  page: DashboardHandler,
): Promise<DashboardServer> {
  const { host } = address;
  const server = createServer((request, response) => {
    void answer(page, isLoopback(host), request, response).catch(() => response.destroy());
  });
  const port = await listen(server, address, "--port");
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${port}/`, close: () => closeNow(server) };
}

/** Whether only this machine reaches a server that listens on this address. */
export function isLoopback(host: string): boolean {
  return loopback.test(host);
}

async function answer(
  page: DashboardHandler,
  own: boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "GET", url = "/", headers } = request;
  const named = `http://${headers.host ?? "localhost"}`;
  // A page of any site may have its name lead here (DNS rebinding), and would then be of our origin.
  if (own && !(URL.canParse(named) && isLoopback(new URL(named).hostname))) {
    response.writeHead(421, { "content-type": "text/plain" }).end("Call it by localhost.\n");
    return;
  }
  if (!URL.canParse(url, named) || new URL(url, named).pathname !== "/") {
    response.writeHead(404, { "content-type": "text/plain" }).end("The page is at /.\n");
    return;
  }
  const body = method === "GET" || method === "HEAD" ? undefined : await bodyOf(request);
  if (body === null) {
    response.writeHead(413, { connection: "close" }).end();
    return;
  }
  const answered = await page(
    new Request(new URL(url, named), {
      method,
      headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, String(value)]],
      ),
      ...(body !== undefined && { body }),
    }),
  );
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  response.end(Buffer.from(await answered.arrayBuffer()));
}

/** Null where it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > maxBodyBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
