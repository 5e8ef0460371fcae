import { ProtocolError, typeOf } from "./frames.ts";
import type { Inbox, NoFrame } from "./inbox.ts";

/** A simple query that is one COPY FROM STDIN. */
export function copiesIn(sql: string): { binary: boolean } | undefined {
  const bare = sql.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, " ");
  if (!/^\s*copy\s[^;]*\sfrom\s+stdin\b[^;]*;?\s*$/i.test(bare)) return undefined;
  return { binary: /\bbinary\b/i.test(bare.slice(bare.search(/\sfrom\s+stdin\b/i))) };
}

/**
 * The data that a client sends for a COPY, with its end. PGlite reads all of its input in one go and
 * can't wait for more, so the data is gathered first.
 */
export async function gatherCopyData(
  inbox: Inbox,
  withinMs: number,
): Promise<readonly Buffer[] | NoFrame> {
  const frames: Buffer[] = [];
  for (;;) {
    const frame = await inbox.next(withinMs);
    if (typeof frame === "string") return frame;
    const type = typeOf(frame);
    if (type === "H" || type === "S") continue; // to be ignored, as the protocol has it
    if (!["d", "c", "f"].includes(type)) throw new ProtocolError(`${type} in the data of a COPY`);
    frames.push(frame);
    if (type !== "d") return frames;
  }
}
