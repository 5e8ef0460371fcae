import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

/** Answers a request; `path` is decoded. */
export type Answering = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => Promise<void>;

/** Serves on a free port of this machine. What `answer` throws is a 500. */
export async function listen(answer: Answering, port = 0): Promise<Listening> {
  const server = createServer((request, response) => {
    const answered = async (): Promise<void> => {
      const { pathname } = new URL(request.url ?? "/", "http://outside");
      await answer(request, response, decodeURIComponent(pathname));
    };
    answered().catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else reply(response, 500, { message: String(error) });
    });
  });
  // After Node's 5 s it would hang up on whoever asks again at that moment.
  server.keepAliveTimeout = 60_000;
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}
