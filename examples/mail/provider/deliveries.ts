import { mailHeader } from "../messages.ts";
import type { PlannedMessage } from "../scenarios.ts";

const atOnce = 8;

/** Announces every message to the webhook, some of them twice; answers how many were accepted. */
export async function deliver(
  messages: readonly PlannedMessage[],
  webhook: string,
): Promise<number> {
  const waiting = [...messages];
  let accepted = 0;
  const deliverNext = async (): Promise<void> => {
    for (let message = waiting.shift(); message; message = waiting.shift()) {
      for (let i = 0; i < message.scenario.deliveries; i++) {
        await announce(message, webhook);
        accepted++;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, deliverNext));
  return accepted;
}

async function announce(message: PlannedMessage, webhook: string): Promise<void> {
  const response = await fetch(webhook, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(mailHeader(message)),
  });
  // A real provider would come back later; in the demo a refused announcement is an error.
  if (!response.ok) throw new Error(`The webhook answered ${response.status} for ${message.id}`);
}
