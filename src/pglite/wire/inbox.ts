import type { Socket } from "node:net";
import { FrameReader, ProtocolError } from "./frames.ts";

/** What a client may send, and the most bytes of each: texts and values may be as long as PostgreSQL's. */
const longTypes = new Set(["Q", "P", "B", "F", "d"]);
const shortTypes = new Set(["E", "D", "C", "S", "H", "X", "c", "f"]);
const maxLongBytes = 2 ** 30;
const maxShortBytes = 30_000;
const maxStartupBytes = 10_000;

/** Why no message comes: the client has gone, or was too slow, or sent what is no message. */
export type NoFrame = "gone" | "late";

/** The messages of one client, one after the other as they are asked for. */
export class Inbox {
  readonly #socket: Socket;
  readonly #reader = new FrameReader(checkFrame);
  #gone = false;
  #arrived: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => {
      this.#reader.push(bytes);
      this.#arrived();
    });
    const end = (): void => {
      this.#gone = true;
      this.#arrived();
    };
    socket.once("end", end).once("close", end);
    // "close" follows; a client that was killed is no news.
    socket.on("error", () => undefined);
  }

  /**
   * The next message, waited for up to `withinMs`. What came before the client went is answered
   * still, as PostgreSQL does. Rejects with a ProtocolError for what is no message.
   */
  async next(withinMs: number, { typed = true } = {}): Promise<Buffer | NoFrame> {
    const until = performance.now() + withinMs;
    for (;;) {
      const frame = this.#reader.next({ typed });
      if (frame !== undefined) return frame;
      if (this.#gone || this.#socket.destroyed) return "gone";
      const leftMs = until - performance.now();
      if (leftMs <= 0) return "late";
      await this.#arrival(leftMs);
    }
  }

  #arrival(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      // Beyond what a timer can take there is none.
      const timer = withinMs < 2 ** 31 ? setTimeout(resolve, withinMs) : undefined;
      this.#arrived = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function checkFrame(type: string, length: number): void {
  const maxBytes =
    type === "" ? maxStartupBytes : longTypes.has(type) ? maxLongBytes : maxShortBytes;
  const known = type === "" || longTypes.has(type) || shortTypes.has(type);
  if (!known || length < 4 || length > maxBytes) {
    throw new ProtocolError(
      `no message of PostgreSQL's protocol: ${JSON.stringify(type)}, ${length}`,
    );
  }
}
