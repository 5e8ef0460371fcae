import type { Socket } from "node:net";
import { quoteIdentifier } from "../../database.ts";
import type { Channels } from "./channels.ts";
import { copiesIn, gatherCopyData } from "./copy-in.ts";
import { readText, typeOf } from "./frames.ts";
import type { Inbox } from "./inbox.ts";
import { Listening } from "./listening.ts";
import {
  abandonBatch,
  closeStatement,
  errorResponse,
  noCopyData,
  noticeOfCopyIn,
  notification,
  query,
  readyForQuery,
  sync,
  type WireError,
} from "./messages.ts";
import { type SharedSession, TurnTimeoutError } from "./session.ts";
import { Settings } from "./settings.ts";
import { Statements } from "./statements.ts";

/** How long things may take, in milliseconds. */
export interface Patience {
  /** A transaction, or a batch without its Sync, may wait so long for its client. */
  readonly idleMs: number;
  /** A client waits so long for its turn. */
  readonly turnMs: number;
}

/** One client, after its startup. It has the session from the begin of a batch to its end. */
export class Connection {
  readonly #id: number;
  readonly #socket: Socket;
  readonly #inbox: Inbox;
  readonly #session: SharedSession;
  readonly #listening: Listening;
  readonly #patience: Patience;
  readonly #statements: Statements;
  readonly #settings: Settings;
  #dismissed = false;
  constructor(parts: {
    id: number;
    socket: Socket;
    inbox: Inbox;
    session: SharedSession;
    channels: Channels;
    patience: Patience;
    startup: ReadonlyMap<string, string>;
  }) {
    this.#id = parts.id;
    this.#socket = parts.socket;
    this.#inbox = parts.inbox;
    this.#session = parts.session;
    this.#listening = new Listening(parts.channels, (channel, payload, from) =>
      this.#send(notification(from, channel, payload)),
    );
    this.#patience = parts.patience;
    this.#statements = new Statements(parts.id);
    this.#settings = new Settings(parts.startup);
  }

  /** Resolves when the client is gone. Rejects with a ProtocolError for what is none of its. */
  async run(): Promise<void> {
    for (;;) {
      const frame = await this.#inbox.next(Number.POSITIVE_INFINITY);
      if (this.#dismissed || typeof frame === "string" || typeOf(frame) === "X") return;
      if (["d", "c", "f"].includes(typeOf(frame))) continue; // of a COPY that has failed
      try {
        await this.#session.turn(this.#id, this.#patience.turnMs, () => this.#turn(frame));
      } catch (error) {
        if (!(error instanceof TurnTimeoutError)) throw error;
        if (!(await this.#refuse(frame))) return;
      }
    }
  }

  /** Takes what the client leaves behind out of the session. Its last transaction is gone already. */
  async cleanUp(isLast: boolean): Promise<void> {
    const names = this.#statements.takeNames();
    const unheard = this.#listening.leave();
    if (names.length === 0 && unheard.length === 0 && !isLast) return;
    await this.#session.turn(this.#id, Number.POSITIVE_INFINITY, async () => {
      await this.#session.exec(Buffer.concat([...names.map(closeStatement), sync]));
      for (const channel of unheard)
        await this.#session.query(`unlisten ${quoteIdentifier(channel)}`);
      // While others are there, a temporary table or an advisory lock may be theirs.
      if (isLast) {
        await this.#session.query("close all; select pg_catalog.pg_advisory_unlock_all()");
        await this.#session.query("discard temp");
      }
    });
  }

  /** Says why it ends, and ends it. */
  #dismiss(error: Omit<WireError, "severity">): void {
    this.#dismissed = true;
    this.#socket.end(errorResponse({ severity: "FATAL", ...error }));
    this.#socket.destroySoon();
  }

  async #turn(first: Buffer): Promise<void> {
    try {
      await this.#settings.apply(this.#session);
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (code === undefined) throw error;
      return this.#dismiss({ code, message });
    }
    let frame: Buffer | "gone" | "late" = first;
    try {
      for (;;) {
        if (typeof frame === "string" || typeOf(frame) === "X") break;
        frame = (await this.#answer(frame)) ?? frame;
        if (typeof frame === "string" || this.#session.idle) break;
        frame = await this.#inbox.next(this.#patience.idleMs);
      }
    } finally {
      await this.#endTurn();
    }
    if (frame === "late") this.#dismiss(idleError(this.#patience.idleMs));
  }

  /** One message of the client. Answers why it is the last one, where it is. */
  async #answer(frame: Buffer): Promise<"gone" | "late" | undefined> {
    const type = typeOf(frame);
    if (["d", "c", "f"].includes(type)) return undefined;
    if (type === "Q") return this.#answerQuery(frame);
    const { before, frame: own, sql, undo } = this.#statements.rewrite(frame, this.#session.epoch);
    if (before !== undefined) {
      const errors = (await this.#session.exec(before)).filter((each) => typeOf(each) === "E");
      this.#send(...errors);
    }
    if (sql !== undefined) this.#notes(sql);
    const answers = await this.#session.exec(type === "E" ? Buffer.concat([own, noCopyData]) : own);
    if (!answers.some((answer) => typeOf(answer) === "1")) undo?.();
    this.#pass(answers);
    return undefined;
  }

  async #answerQuery(frame: Buffer): Promise<"gone" | "late" | undefined> {
    const { text } = readText(frame, 5);
    this.#notes(text);
    const copy = copiesIn(text);
    if (copy === undefined) {
      this.#pass(await this.#session.exec(Buffer.concat([frame, noCopyData])));
      return undefined;
    }
    this.#send(noticeOfCopyIn(copy.binary));
    const data = await gatherCopyData(this.#inbox, this.#patience.idleMs);
    if (typeof data === "string") return data;
    const answers = await this.#session.exec(Buffer.concat([frame, ...data]));
    this.#pass(answers.filter((answer) => typeOf(answer) !== "G"));
    return undefined;
  }

  #notes(sql: string): void {
    this.#listening.reads(sql);
    this.#settings.reads(sql);
  }

  /** Hands answers on to the client, and takes note of the commands that have ended. */
  #pass(answers: readonly Buffer[]): void {
    for (const answer of answers) {
      if (typeOf(answer) !== "C") continue;
      const { text: tag } = readText(answer, 5);
      this.#listening.ends(tag);
      this.#settings.ends(tag);
      if (tag === "DEALLOCATE ALL" || tag === "DISCARD ALL") {
        this.#statements.takeNames();
        this.#session.epoch += 1;
      }
    }
    this.#send(...answers);
  }

  /** Leaves the session as it was: no transaction, no settings, and everybody's listening. */
  async #endTurn(): Promise<void> {
    // The Sync alone would commit what a batch that was left behind has done.
    if (this.#session.inBatch) await this.#session.exec(abandonBatch);
    if (!this.#session.idle) await this.#session.exec(query("rollback"));
    await this.#listening.follow(this.#session);
    await this.#settings.putAway(this.#session);
  }

  /** The turn did not come: the batch is answered by an error. False where the client has gone. */
  async #refuse(first: Buffer): Promise<boolean> {
    const seconds = Math.round(this.#patience.turnMs / 1000);
    this.#send(
      errorResponse({
        severity: "ERROR",
        code: "55P03",
        message: `the embedded database has one session, and others kept it busy for ${seconds} s`,
        hint: "End transactions soon, and let none wait for a statement outside of it. Nothing was run.",
      }),
    );
    for (let frame: Buffer | string = first; ; ) {
      if (typeof frame === "string" || typeOf(frame) === "X") return false;
      if (["Q", "S", "F"].includes(typeOf(frame))) break;
      frame = await this.#inbox.next(this.#patience.idleMs);
    }
    this.#send(readyForQuery("I"));
    return true;
  }

  #send(...frames: readonly Buffer[]): void {
    if (frames.length > 0 && this.#socket.writable) this.#socket.write(Buffer.concat(frames));
  }
}

function idleError(idleMs: number): Omit<WireError, "severity"> {
  return {
    code: "25P03",
    message: `the transaction was rolled back and the connection closed: its client sent nothing for ${Math.round(idleMs / 1000)} s, and others share the one session of this embedded database`,
  };
}
