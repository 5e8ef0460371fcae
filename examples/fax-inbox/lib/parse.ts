import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { type AttachmentStream, MailParser, type MessageText } from "mailparser";
import { oneLine } from "./one-line.ts";

export interface ParsedAttachment {
  /** Among the attachments of the message, from 0: the same at every parse of it. */
  readonly position: number;
  /** As the sender wrote it, in one line of up to 200 characters. */
  readonly filename: string;
  /** What the sender says it is, in the form of a media type. */
  readonly contentType: string;
  readonly content: Buffer;
}

/**
 * Parses a message while it arrives and hands out its attachments one by one: one of them is in memory
 * at a time, and the first is stored before the last has been received.
 *
 * Throws what the stream throws: a message that broke off must not pass for a whole one.
 */
export async function* attachmentsOf(mime: Readable): AsyncGenerator<ParsedAttachment> {
  // A message within the message is kept as the file that it is.
  const parser = new MailParser({ ignoreEmbedded: true, checksumAlgo: false });
  const received = pipeline(mime, parser);
  const broken = new Promise<never>((_, reject) => received.catch(reject));
  broken.catch(() => undefined); // told by the race below, or by `received` at the end
  let position = 0;
  try {
    for await (const part of parser as AsyncIterable<AttachmentStream | MessageText>) {
      if (part.type !== "attachment") continue;
      // The parser never ends an attachment that was cut off: without the race this waits for ever.
      const content = await Promise.race([buffer(part.content), broken]);
      part.release?.();
      const filename = oneLine(part.filename ?? "", 200) || `attachment ${position + 1}`;
      yield { position, filename, contentType: mediaType(part.contentType), content };
      position += 1;
    }
    await received;
  } finally {
    mime.destroy(); // also where an attachment could not be stored: nobody reads on
  }
}

/** It becomes a header of the upload. */
function mediaType(contentType: string | undefined): string {
  const isOne = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(contentType ?? "");
  return isOne ? `${contentType}` : "application/octet-stream";
}
