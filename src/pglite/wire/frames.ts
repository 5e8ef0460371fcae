/**
 * Cuts a stream of bytes into the messages of PostgreSQL's protocol: a type, its length as a 32-bit
 * number (which counts itself), and so many bytes. The first message of a client has no type.
 */
export class FrameReader {
  readonly #check: (type: string, length: number) => void;
  #chunks: Buffer[] = [];
  #size = 0;

  /** `check` throws for a message that must not be read at all; its type is "" where it has none. */
  constructor(check: (type: string, length: number) => void = () => undefined) {
    this.#check = check;
  }

  /** Takes bytes, which must not change any more. */
  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#chunks.push(bytes);
    this.#size += bytes.length;
  }

  /** The next message with its type and length; undefined while it has not come whole. */
  next({ typed = true } = {}): Buffer | undefined {
    const headBytes = typed ? 5 : 4;
    if (this.#size < headBytes) return undefined;
    const head = this.#front(headBytes);
    const length = head.readInt32BE(headBytes - 4);
    this.#check(typed ? String.fromCharCode(head[0] as number) : "", length);
    const total = headBytes - 4 + length;
    if (this.#size < total) return undefined;
    const whole = this.#front(total);
    const rest = whole.subarray(total);
    this.#chunks = rest.length > 0 ? [rest, ...this.#chunks.slice(1)] : this.#chunks.slice(1);
    this.#size -= total;
    return whole.subarray(0, total);
  }

  /** The first chunk, grown to so many bytes: a message of many chunks is put together only once. */
  #front(bytes: number): Buffer {
    const [first] = this.#chunks as [Buffer];
    if (first.length >= bytes) return first;
    let count = 0;
    let size = 0;
    while (size < bytes) size += this.#chunks[count++]?.length ?? bytes;
    const merged = Buffer.concat(this.#chunks.slice(0, count));
    this.#chunks = [merged, ...this.#chunks.slice(count)];
    return merged;
  }
}

/** The type of a message. */
export function typeOf(frame: Buffer): string {
  return String.fromCharCode(frame[0] as number);
}

/** The text up to the next zero byte, and where what follows it begins; throws where there is none. */
export function readText(frame: Buffer, from: number): { text: string; next: number } {
  const end = frame.indexOf(0, from);
  if (end < 0) throw new ProtocolError("a text without its end");
  return { text: frame.toString("utf8", from, end), next: end + 1 };
}

/** What a client sent is not PostgreSQL's protocol, or not a part of it that is spoken here. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}
