import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { composeMessage } from "../messages.ts";
import type { Answer } from "./behaviour.ts";
import type { LogEntry, Mail } from "./play.ts";

const slowPieces = 20;

/** Sends a message in the way that the answer says; notes it in the log when the client goes away. */
export async function transfer(
  mail: Mail,
  { delivery }: Answer,
  entry: LogEntry,
  response: ServerResponse,
  slowMs: number,
): Promise<void> {
  const { raw } = await composeMessage(mail.planned);
  // With the length announced, a client can tell a message cut short from a whole one.
  response.writeHead(200, { "content-type": "message/rfc822", "content-length": raw.length });
  const pieces =
    delivery === "slowly"
      ? inPieces(raw, slowMs)
      : delivery === "held"
        ? inHalves(raw, mail, entry.worker, once(response, "close"))
        : [raw];
  try {
    await pipeline(Readable.from(pieces), response);
  } catch {
    entry.note += "; the client went away";
  }
}

async function* inPieces(raw: Buffer, totalMs: number): AsyncGenerator<Buffer> {
  const size = Math.ceil(raw.length / slowPieces);
  for (let at = 0; at < raw.length; at += size) {
    await pause(totalMs / slowPieces);
    yield raw.subarray(at, at + size);
  }
}

async function* inHalves(
  raw: Buffer,
  mail: Mail,
  worker: string,
  gone: Promise<unknown>,
): AsyncGenerator<Buffer> {
  const middle = Math.floor(raw.length / 2);
  yield raw.subarray(0, middle);
  mail.held.open(worker);
  await Promise.race([mail.letGo.passed, gone]);
  yield raw.subarray(middle);
}
