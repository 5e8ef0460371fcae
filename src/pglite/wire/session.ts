import type { OwnPGlite } from "../like.ts";
import { noteMove } from "../turn.ts";
import { FrameReader, readText, typeOf } from "./frames.ts";
import { query, readError, readRow, type Status } from "./messages.ts";

/** PGlite itself broke down: nothing can be asked of it any more. */
export class SessionLostError extends Error {
  override readonly name = "SessionLostError";
}

/** A turn did not come in time. */
export class TurnTimeoutError extends Error {
  override readonly name = "TurnTimeoutError";
}

/**
 * The one session of a PGlite, of which its connections have a turn each, in the order in which they
 * ask. The calls of this process stand in the same line, since it is PGlite's own.
 */
export class SharedSession {
  /** What the last ReadyForQuery told; undefined from the first message of a batch until then. */
  #status: Status | undefined = "I";
  /** How often all prepared statements were deallocated: they are everybody's. */
  epoch = 0;
  /** Whose turn it is. */
  holder = 0;
  readonly #db: OwnPGlite;
  readonly #onLost: (error: Error) => void;
  #lost: SessionLostError | undefined;

  constructor(db: OwnPGlite, onLost: (error: Error) => void) {
    this.#db = db;
    this.#onLost = onLost;
  }

  /** Whether it is outside of any transaction and batch. */
  get idle(): boolean {
    return this.#status === "I";
  }

  /** Whether a batch waits for its Sync. */
  get inBatch(): boolean {
    return this.#status === undefined;
  }

  /**
   * Runs `work` when it is `holder`'s turn, alone. Rejects with a TurnTimeoutError when that takes
   * longer than `waitMs`; the work is not run then.
   */
  async turn(holder: number, waitMs: number, work: () => Promise<void>): Promise<void> {
    let begun = false;
    let given = false;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<never>((_, reject) => {
      const giveUp = (): void => {
        if (begun) return;
        given = true;
        reject(new TurnTimeoutError());
      };
      if (waitMs < Number.POSITIVE_INFINITY) timer = setTimeout(giveUp, waitMs);
    });
    const done = this.#db.wire.exclusive(async () => {
      if (given) return;
      begun = true;
      clearTimeout(timer);
      this.holder = holder;
      noteMove(this.#db);
      try {
        await work();
      } finally {
        noteMove(this.#db);
      }
    });
    await Promise.race([done, patience]).finally(() => clearTimeout(timer));
  }

  /**
   * Hands messages to the session and answers its messages, notifications apart: those go to whoever
   * listens. Rejects with a SessionLostError where PGlite broke down.
   */
  async exec(messages: Buffer): Promise<Buffer[]> {
    if (this.#lost) throw this.#lost;
    const reader = new FrameReader();
    this.#status = undefined;
    try {
      // What it gives is memory of PGlite's own, good for the call alone.
      await this.#db.wire.exec(messages, (bytes) => reader.push(Buffer.from(bytes)));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.#lost = new SessionLostError(`the embedded database broke down: ${reason}`, { cause });
      this.#onLost(this.#lost);
      throw this.#lost;
    }
    return this.#take(reader);
  }

  /** Runs SQL of our own, and answers the rows. Rejects with what PostgreSQL says, its SQLSTATE as `code`. */
  async query(sql: string): Promise<(string | null)[][]> {
    const frames = await this.exec(query(sql));
    const failed = frames.find((frame) => typeOf(frame) === "E");
    if (failed !== undefined) {
      const { code, message } = readError(failed);
      throw Object.assign(new Error(message), { code });
    }
    return frames.filter((frame) => typeOf(frame) === "D").map(readRow);
  }

  #take(reader: FrameReader): Buffer[] {
    const frames: Buffer[] = [];
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      if (typeOf(frame) === "A") {
        const channel = readText(frame, 9);
        const { text: payload } = readText(frame, channel.next);
        this.#db.wire.channels.deliver(channel.text, payload, this.holder);
        continue;
      }
      if (typeOf(frame) === "Z") this.#status = String.fromCharCode(frame[5] as number) as Status;
      frames.push(frame);
    }
    return frames;
  }
}
