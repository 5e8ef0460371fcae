import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { mailHeader } from "../../mail/messages.ts";
import { startProvider } from "../../mail/provider/server.ts";
import { minimumMessages, type PlannedMessage, planMessages } from "../../mail/scenarios.ts";
import { sign, signatureHeader, timestampHeader } from "../lib/signature.ts";
import type { Faults } from "./faults.ts";
import { type Listening, listen } from "./http.ts";
import { misbehave } from "./misbehave.ts";

/** How many messages the provider has. */
const messages = 2_000;

export interface MailProvider extends Listening {
  /** Messages that the provider simply sends, the same ones at each start. */
  readonly ordinary: readonly PlannedMessage[];
  /** Announces a message to the webhook, signed; at each call anew. */
  announce(id: string, webhook: string): Promise<Response>;
}

export interface MailOptions {
  readonly webhookSecret: string;
  readonly faults: Faults;
  /** How long the slow message, mail-0009, takes. */
  readonly slowMs?: number | undefined;
  /** Default: any free one. */
  readonly port?: number | undefined;
}

/**
 * The mail provider of examples/mail, whose first messages misbehave as its README says, behind a door
 * at which any message can: it plays what is planned in `faults`, and hands on everything else.
 */
export async function startMail(options: MailOptions): Promise<MailProvider> {
  const { webhookSecret, faults, slowMs, port } = options;
  const provider = await startProvider({ messages, ...(slowMs !== undefined && { slowMs }) });
  const door = await listen(async (request, response, path) => {
    const fault = faults.take("mail", path);
    if (fault !== undefined && fault.how !== "cut") return misbehave(fault, response);
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const answer = await fetch(provider.url + request.url, { signal: gone.signal });
    for (const name of ["content-type", "content-length", "retry-after"]) {
      const value = answer.headers.get(name);
      if (value !== null) response.setHeader(name, value);
    }
    response.writeHead(answer.status);
    if (fault !== undefined) return breakOff(answer, response);
    await pipeline(Readable.fromWeb(answer.body ?? new ReadableStream()), response);
  }, port);
  const planned = planMessages(messages);
  return {
    url: door.url,
    // Beyond the scenes every fifth message meets a provider that is busy.
    ordinary: planned.filter(({ index }) => index >= minimumMessages && index % 5 !== 0),
    announce(id, webhook) {
      const message = planned.find((each) => each.id === id);
      if (message === undefined) throw new Error(`There is no message ${id}`);
      return post(webhook, webhookSecret, JSON.stringify(mailHeader(message)));
    },
    async close() {
      await door.close();
      await provider.close();
    },
  };
}

/** Sends half of a message and closes the connection: a reset might take back what is on its way. */
async function breakOff(answer: Response, response: ServerResponse): Promise<void> {
  const message = Buffer.from(await answer.arrayBuffer());
  await new Promise((sent) => response.write(message.subarray(0, message.length / 2), sent));
  response.destroy();
}

function post(webhook: string, secret: string, body: string): Promise<Response> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const headers = {
    "content-type": "application/json",
    [timestampHeader]: timestamp,
    [signatureHeader]: sign(secret, timestamp, body),
  };
  return fetch(webhook, { method: "POST", headers, body });
}
