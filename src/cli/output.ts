/**
 * Data goes to stdout, everything else to stderr. A reader that has gone (`| head -1`) is no
 * failure: what is still written is dropped, and the command comes to its own end.
 */
const writeData = process.stdout.write.bind(process.stdout);

/** What the user asked for: a table, or with --json one JSON value. */
export function printData(text: string): void {
  writeData(`${text}\n`);
}

/** Hints, progress and errors. */
export function printNote(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Must be called before the first write. Any other failure of stdout ends the process. */
export function ignoreClosedPipes(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (isGone(error)) return;
    printNote(`leasehold: the output can't be written: ${error.message}`);
    process.exit(1);
  });
  process.stderr.on("error", () => {});
}

function isGone({ code }: NodeJS.ErrnoException): boolean {
  return code === "EPIPE" || code === "ERR_STREAM_DESTROYED";
}

/**
 * Sends what other code writes to stdout to stderr instead, so that a handler's `console.log` is
 * seen but spoils no output. What is written to file descriptor 1 directly can't be caught.
 */
export function keepStdoutForData(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** Resolves once all output has left the process, or its reader has gone. */
export async function flushOutput(): Promise<void> {
  // One turn of the event loop: Node reports a rejection that nobody handles only then.
  await new Promise((resolve) => setImmediate(resolve));
  const flushed = (write: typeof process.stdout.write): Promise<void> =>
    new Promise((resolve) => {
      write("", () => resolve());
    });
  await flushed(writeData);
  await flushed(process.stderr.write.bind(process.stderr));
}
