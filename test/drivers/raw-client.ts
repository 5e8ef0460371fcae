import { connect, type Socket } from "node:net";
import { FrameReader, typeOf } from "../../src/pglite/wire/frames.ts";
import { int32, message } from "../../src/pglite/wire/messages.ts";

/** A client that speaks PostgreSQL's protocol message by message, also wrongly. */
export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  readonly #reader = new FrameReader();
  #arrived: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.closed = new Promise((resolve) => this.socket.once("close", resolve));
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => this.#arrived());
    this.socket.on("data", (bytes) => {
      this.#reader.push(bytes);
      this.#arrived();
    });
  }

  /** One that has a session. */
  static async open(port: number, parameters: Record<string, string> = {}): Promise<RawClient> {
    const client = new RawClient(port);
    client.startUp({ user: "u", database: "postgres", ...parameters });
    await client.answer();
    return client;
  }

  startUp(parameters: Record<string, string>, version = 0x30000): void {
    const texts = Object.entries(parameters).flat();
    const body = Buffer.from(`${texts.map((text) => `${text}\0`).join("")}\0`);
    this.socket.write(Buffer.concat([int32(body.length + 8, version), body]));
  }

  send(type: string, ...parts: (string | Buffer)[]): this {
    this.socket.write(message(type, ...parts));
    return this;
  }

  /** Prepares, without its Sync. */
  parse(name: string, sql: string): this {
    return this.send("P", name, sql, Buffer.alloc(2));
  }

  /** Runs a prepared statement without parameters, without its Sync. */
  run(name: string): this {
    return this.send("B", "", name, Buffer.alloc(6)).send("E", "", Buffer.alloc(4));
  }

  /**
   * The types of all messages up to ReadyForQuery, or to the end of the connection; with its text
   * for an error or a row, with its status for ReadyForQuery.
   */
  async answer(): Promise<string[]> {
    const seen: string[] = [];
    for (;;) {
      const frame = this.#reader.next();
      if (frame === undefined) {
        if (this.socket.destroyed) return seen;
        await new Promise<void>((resolve) => {
          this.#arrived = resolve;
        });
        continue;
      }
      const type = typeOf(frame);
      seen.push("ZED".includes(type) ? `${type} ${readable(frame)}` : type);
      if (type === "Z") return seen;
    }
  }

  /** Messages of these types come at once: they are put together with a message in flight. */
  async answerOf(type: string): Promise<string[]> {
    const seen: string[] = [];
    while (!seen.some((each) => each.startsWith(type))) {
      const frame = this.#reader.next();
      if (frame !== undefined) seen.push(typeOf(frame));
      else {
        if (this.socket.destroyed) return seen;
        await new Promise<void>((resolve) => {
          this.#arrived = resolve;
        });
      }
    }
    return seen;
  }
}

function readable(frame: Buffer): string {
  const text = frame.toString("utf8", 5);
  if (typeOf(frame) !== "E") return text.replaceAll(/\p{Cc}+/gu, "");
  const field = (name: string) =>
    text
      .split("\0")
      .find((part) => part.startsWith(name))
      ?.slice(1);
  return `${field("C")} ${field("M")}`;
}
