import { quoteIdentifier } from "../../database.ts";
import { type Channels, type Listener, listensOf } from "./channels.ts";
import type { SharedSession } from "./session.ts";

/**
 * What one connection listens to. The session tells of a LISTEN or UNLISTEN that has ended, but not
 * of its channel, so that is read from the text that ran.
 */
export class Listening {
  readonly #channels: Channels;
  readonly #listener: Listener;
  #texts: string[] = [];
  #tags = new Set<string>();

  constructor(channels: Channels, listener: Listener) {
    this.#channels = channels;
    this.#listener = listener;
  }

  /** Told of each text that the connection runs. */
  reads(sql: string): void {
    this.#texts.push(sql);
  }

  /** Told of each command that has ended. */
  ends(tag: string): void {
    this.#tags.add(tag);
  }

  /** At the end of a turn, outside of any transaction. */
  async follow(session: SharedSession): Promise<void> {
    const [texts, tags] = [this.#texts, this.#tags];
    this.#texts = [];
    this.#tags = new Set();
    const discards = tags.has("DISCARD ALL");
    if (discards) this.#channels.removeAll(this.#listener);
    if (tags.has("LISTEN") || tags.has("UNLISTEN")) {
      for (const { on, channel } of texts.flatMap(listensOf)) this.#change(on, channel);
    }
    if (!discards && !tags.has("UNLISTEN")) return;
    // The session has let go of what others listen to as well.
    const all = this.#channels.names().map((channel) => `listen ${quoteIdentifier(channel)};`);
    await session.query(all.join(""));
  }

  /** The connection is closed. Answers the channels that nobody listens to any more. */
  leave(): string[] {
    return this.#channels.removeAll(this.#listener);
  }

  #change(on: boolean, channel: string): void {
    if (on) this.#channels.add(channel, this.#listener);
    else if (channel === "*") this.#channels.removeAll(this.#listener);
    else this.#channels.remove(channel, this.#listener);
  }
}
