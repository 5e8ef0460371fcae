import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { z } from "zod";

/** What the provider announces. It comes from outside, so it is checked. */
const announcement = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/),
  from: z.string().max(500),
  subject: z.string().max(500),
  receivedAt: z.iso.datetime(),
});

export type Announcement = z.infer<typeof announcement>;

export interface Webhook {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The endpoint to which the provider announces a message. It answers 202 only after `receive` has
 * resolved, that is, when the message and its job are stored: a provider that hears nothing tries
 * again, and that is why a message can be announced twice.
 */
export async function serveWebhook(
  receive: (mail: Announcement) => Promise<void>,
): Promise<Webhook> {
  const server = createServer(async (request, response) => {
    try {
      const body = announcement.safeParse(await json(request).catch(() => null));
      if (body.success) await receive(body.data);
      response.writeHead(body.success ? 202 : 400).end();
    } catch {
      response.writeHead(500).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`, close };
}
