import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { type AttachmentStream, MailParser, type MessageText } from "mailparser";

export interface ParsedAttachment {
  /** The position among the message's attachments, from 0: the same at every parse of it. */
  readonly index: number;
  /** As the sender wrote it: an untrusted text, no path. */
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

/**
 * Parses a message while it still arrives and hands out its attachments one by one, so that one
 * attachment is in memory at a time and the first is stored before the last has been received.
 *
 * Throws what the stream throws when the connection breaks: a message cut short must never pass for
 * a whole one.
 */
export async function* attachmentsOf(mime: Readable): AsyncGenerator<ParsedAttachment> {
  // A nested message is kept as the file that it is; taken apart, its bytes would be lost.
  const parser = new MailParser({ ignoreEmbedded: true, checksumAlgo: false });
  const received = pipeline(mime, parser);
  received.catch(() => {}); // reported below, by the loop or by the race
  let index = 0;
  for await (const part of parser as AsyncIterable<AttachmentStream | MessageText>) {
    if (part.type !== "attachment") continue;
    // A parser that was cut off never ends the attachment in hand: without the race, this waits on.
    const content = await Promise.race([buffer(part.content), failureOf(received)]);
    part.release?.();
    const { contentType, filename = "" } = part;
    yield { index: index++, filename, contentType, content };
  }
  await received;
}

function failureOf(promise: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => promise.catch(reject));
}
