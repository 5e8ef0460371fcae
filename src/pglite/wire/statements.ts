import { readText, typeOf } from "./frames.ts";
import { closeStatement, message } from "./messages.ts";

/** A statement that a client has prepared. */
interface Prepared {
  readonly name: string;
  readonly sql: string;
  /** The message that prepares it. */
  readonly parse: Buffer;
  /** How often all statements of the session had been deallocated by then. */
  epoch: number;
}

/** What goes to the session in place of a client's message. */
export interface Rewritten {
  /** Goes first, and its answer to nobody, but for an error. */
  readonly before: Buffer | undefined;
  readonly frame: Buffer;
  /** The statement that is prepared or about to run. */
  readonly sql?: string | undefined;
  /** To be called where the answer is no success: nothing was prepared. */
  readonly undo?: () => void;
}

/**
 * The prepared statements of one connection. All connections share one session, so each statement
 * gets a name of the session's own: drivers number theirs alike, and the unnamed one of the
 * protocol, which a client may prepare in one turn and run in another, would be everybody's.
 *
 * Portals need no such care. They end with their transaction, and until then nobody else has a turn.
 */
export class Statements {
  readonly #prefix: string;
  readonly #prepared = new Map<string, Prepared>();
  #made = 0;

  constructor(connectionId: number) {
    this.#prefix = `leasehold_${connectionId}`;
  }

  /** `epoch`: how often all statements of the session were deallocated, by whomever. */
  rewrite(frame: Buffer, epoch: number): Rewritten {
    switch (typeOf(frame)) {
      case "P":
        return this.#parse(frame, epoch);
      case "B": {
        const portal = readText(frame, 5);
        const { text, next } = readText(frame, portal.next);
        const { name, sql, before } = this.#use(text, epoch);
        return { before, frame: message("B", portal.text, name, frame.subarray(next)), sql };
      }
      case "D":
      case "C":
        return this.#describeOrClose(frame, epoch);
      default:
        return { before: undefined, frame };
    }
  }

  /** The names in the session of all that are prepared; they are forgotten. */
  takeNames(): string[] {
    const names = [...this.#prepared.values()].map(({ name }) => name);
    this.#prepared.clear();
    return names;
  }

  #parse(frame: Buffer, epoch: number): Rewritten {
    const { text: given, next } = readText(frame, 5);
    const { text: sql } = readText(frame, next);
    const before = this.#prepared.get(given);
    // A name that is taken is an error, which PostgreSQL itself is to tell; the unnamed is replaced.
    const name = before?.name ?? `${this.#prefix}_${++this.#made}`;
    const parse = message("P", name, frame.subarray(next));
    if (before === undefined || given === "")
      this.#prepared.set(given, { name, sql, parse, epoch });
    const replaces = given === "" && before !== undefined;
    const undo = (): void => {
      if (this.#prepared.get(given)?.parse === parse) this.#prepared.delete(given);
    };
    return { before: replaces ? closeStatement(name) : undefined, frame: parse, sql, undo };
  }

  /** Another connection's DISCARD ALL took this one's statements along: it is prepared again. */
  #use(given: string, epoch: number): { name: string; sql?: string; before?: Buffer } {
    const prepared = this.#prepared.get(given);
    if (prepared === undefined) return { name: `${this.#prefix}_${given}_unknown` };
    const { name, sql, parse } = prepared;
    if (prepared.epoch === epoch) return { name, sql };
    prepared.epoch = epoch;
    return { name, sql, before: parse };
  }

  #describeOrClose(frame: Buffer, epoch: number): Rewritten {
    const what = frame.subarray(5, 6);
    const { text } = readText(frame, 6);
    if (what.toString() !== "S") return { before: undefined, frame };
    const { name, before } = this.#use(text, epoch);
    const closes = typeOf(frame) === "C";
    if (closes) this.#prepared.delete(text);
    return {
      before: closes ? undefined : before,
      frame: message(typeOf(frame), what, name),
    };
  }
}
