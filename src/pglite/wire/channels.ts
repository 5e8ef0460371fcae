/** Told of a notification; `from` is the connection that sent it, 0 for this process itself. */
export type Listener = (channel: string, payload: string, from: number) => void;

/**
 * Who listens to what, of all that share the one session of a PGlite: the connections of a server,
 * and this process itself. The session listens to a channel as long as one of them does, so LISTEN
 * and UNLISTEN of one must not be taken for the others'.
 */
export class Channels {
  readonly #listeners = new Map<string, Set<Listener>>();

  add(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
  }

  /** True where nobody listens to the channel any more. */
  remove(channel: string, listener: Listener): boolean {
    const listeners = this.#listeners.get(channel);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(channel);
    return listeners?.size === 0;
  }

  /** Takes it from every channel, and answers those that nobody listens to any more. */
  removeAll(listener: Listener): string[] {
    return this.names().filter((channel) => this.remove(channel, listener));
  }

  /** The channels that somebody listens to. */
  names(): string[] {
    return [...this.#listeners.keys()];
  }

  deliver(channel: string, payload: string, from = 0): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(channel, payload, from);
  }
}

/** LISTEN or UNLISTEN of one channel, or UNLISTEN of all. */
export interface Listens {
  readonly on: boolean;
  /** "*" for all. */
  readonly channel: string;
}

const statement = /(?:^|;)\s*(un)?listen\s+(?:(\*)|"((?:[^"]|"")+)"|([\p{L}_][\p{L}\p{N}_$]*))/giu;

/** The LISTEN and UNLISTEN statements of an SQL text that holds no other `listen`, in their order. */
export function listensOf(sql: string): Listens[] {
  const bare = sql.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, " ");
  return [...bare.matchAll(statement)].map(([, un, all, quoted, plain = ""]) => ({
    on: un === undefined,
    channel: all ?? channelName(quoted === undefined ? plain : `"${quoted}"`),
  }));
}

/** The name that an identifier in SQL text means. */
export function channelName(identifier: string): string {
  return identifier.startsWith('"')
    ? identifier.slice(1, -1).replaceAll('""', '"')
    : identifier.toLowerCase();
}
