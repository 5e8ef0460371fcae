import type { Size } from "./render.ts";

/** What a screen needs of `process.stdin` and `process.stdout`. */
export interface Terminal {
  readonly input: Pick<NodeJS.ReadStream, "isTTY" | "on" | "off" | "pause" | "resume"> & {
    setRawMode?(raw: boolean): unknown;
  };
  readonly output: Pick<NodeJS.WriteStream, "write" | "on" | "off"> & {
    readonly columns?: number;
    readonly rows?: number;
  };
}

// DEC private modes: 1049 the alternate screen, 25 the cursor, 7 the wrapping of long lines.
const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const clearLine = "\u001b[K";
const clearBelow = "\u001b[J";

/** The whole terminal, for as long as it is open; what stood there comes back afterwards. */
export class Screen {
  readonly #terminal: Terminal;
  readonly #onKey: (key: string) => void;
  readonly #onResize: () => void;
  #open = true;

  /** `onKey` is told of each key, `onResize` to draw again. */
  constructor(terminal: Terminal, onKey: (key: string) => void, onResize: () => void) {
    this.#terminal = terminal;
    this.#onKey = (chunk: unknown) => {
      for (const key of String(chunk)) onKey(key);
    };
    this.#onResize = onResize;
    const { input, output } = terminal;
    // Also where the process ends by an error that nothing catches.
    process.once("exit", this.close);
    output.write(enter);
    output.on("resize", this.#onResize);
    if (input.isTTY) {
      input.setRawMode?.(true);
      input.on("data", this.#onKey);
      input.resume();
    }
  }

  get size(): Size {
    const { columns, rows } = this.#terminal.output;
    return { width: columns || 80, height: rows || 24 };
  }

  /** Draws over what is there, without clearing it first: that would flicker. */
  draw(lines: readonly string[]): void {
    if (!this.#open) return;
    const drawn = lines.map((line) => `${line}${clearLine}`).join("\r\n");
    this.#terminal.output.write(`${home}${drawn}${clearBelow}`);
  }

  readonly close = (): void => {
    if (!this.#open) return;
    this.#open = false;
    process.off("exit", this.close);
    const { input, output } = this.#terminal;
    output.off("resize", this.#onResize);
    if (input.isTTY) {
      input.off("data", this.#onKey);
      input.setRawMode?.(false);
      input.pause();
    }
    output.write(leave);
  };
}
