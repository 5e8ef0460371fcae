import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { deliver } from "./deliveries.ts";
import { Play } from "./play.ts";
import { transfer } from "./transfer.ts";

export interface ProviderOptions {
  /** How many messages there are. */
  readonly messages: number;
  /** How long the slow message takes. Default: 5,000. */
  readonly slowMs?: number;
  /** Default: any free one. */
  readonly port?: number;
}

export interface Provider {
  readonly url: string;
  close(): Promise<void>;
}

interface Context {
  readonly play: Play;
  readonly slowMs: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The second part of the path: a message id, or empty. */
  readonly id: string;
}

/**
 * The mail provider: serves messages, misbehaves as scenarios.ts says, and keeps a log.
 *
 * For the workers: GET /messages/:id/raw. For the demo, which directs the play: POST /deliveries,
 * GET and DELETE /held/:id, POST /rights, GET /log.
 */
export async function startProvider(options: ProviderOptions): Promise<Provider> {
  const { messages, slowMs = 5_000, port = 0 } = options;
  const play = new Play(messages);
  const server = createServer((request, response) => {
    dispatch({ play, slowMs, request, response }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else reply(response, 500, { error: String(error) });
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function dispatch(context: Omit<Context, "id">): Promise<void> {
  const path = (context.request.url ?? "/").slice(1).split("/");
  const [area = "", id = ""] = path.map(decodeURIComponent);
  const route = routes[`${context.request.method} ${area}`] ?? notFound;
  await route({ ...context, id });
}

type Route = (context: Context) => Promise<void>;

const routes: Record<string, Route> = {
  "GET messages": serveMessage,
  "POST deliveries": async ({ play, request, response }) => {
    const { webhook } = (await json(request)) as { webhook: string };
    const planned = play.mails.map((mail) => mail.planned);
    reply(response, 200, { accepted: await deliver(planned, webhook) });
  },
  // Answers only once the message is being held, so that its caller needs no polling and no sleep.
  "GET held": async ({ play, response, id }) => {
    const mail = play.mail(id);
    if (mail === undefined) return reply(response, 404, { error: "no such message" });
    reply(response, 200, { worker: await mail.held.passed });
  },
  "DELETE held": async ({ play, response, id }) => {
    play.mail(id)?.letGo.open();
    reply(response, 200, {});
  },
  // Answers only once the key was refused: granted earlier, the refusal would never be seen.
  "POST rights": async ({ play, response }) => {
    await play.refused.passed;
    play.rightsGranted = true;
    reply(response, 200, {});
  },
  "GET log": async ({ play, response }) => reply(response, 200, play.log),
};

async function serveMessage({ play, slowMs, request, response, id }: Context): Promise<void> {
  const mail = play.mail(id);
  if (mail === undefined) return reply(response, 404, { error: "no such message" });
  const worker = String(request.headers["x-worker"] ?? "someone");
  const { answer, entry } = play.visit(mail, worker);
  if (answer.status === 200) return transfer(mail, answer, entry, response, slowMs);
  const { retryAfterSeconds: seconds } = answer;
  const headers = seconds === undefined ? {} : { "retry-after": String(seconds) };
  response.writeHead(answer.status, { "content-type": "text/plain", ...headers });
  response.end(`${answer.note}\n`);
}

async function notFound({ response }: Context): Promise<void> {
  reply(response, 404, { error: "no such path" });
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
