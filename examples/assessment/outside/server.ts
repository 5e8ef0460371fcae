import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/**
 * The services of others, as far as this example needs them, on a port of their own: a tile server
 * that counts what it serves, and three that know about areas. Answers their URL.
 */
export async function startOutside(): Promise<string> {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://outside");
    await pause(200);
    const answer = answerTo(pathname.slice(1), searchParams.get("address") ?? "");
    response.statusCode = answer === null ? 404 : 200;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const notes = {
  flood: ["Below the river's level of 2019", "Dry for fifty years, but near a stream", "On a hill"],
  crime: ["Bicycles do not stay long", "About as many reports as elsewhere", "Hardly any reports"],
  traffic: ["Two main roads meet here", "Busy in the morning", "A quiet street"],
} as const;

const served = new Map<string, number>();

/** Null for a place that is nowhere. */
function answerTo(service: string, address: string): object | null {
  if (/nowhere/i.test(address)) return null;
  if (service === "tile") {
    const times = (served.get(address) ?? 0) + 1;
    served.set(address, times);
    return { id: `tile-${hash(address)}`, served: times };
  }
  if (!isCheck(service)) return null;
  const score = 15 + (hash(service + address.toLowerCase()) % 86);
  return { name: service, score, note: notes[service][Math.min(2, Math.floor(score / 34))] };
}

function isCheck(service: string): service is keyof typeof notes {
  return Object.hasOwn(notes, service);
}

/** The same address always gets the same answer. */
function hash(text: string): number {
  let value = 7;
  for (const letter of text) value = (value * 31 + letter.charCodeAt(0)) % 1_000_003;
  return value;
}
