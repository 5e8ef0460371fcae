import { createInterface, type Interface } from "node:readline/promises";

/** Questions on the terminal. They go to standard error, as all that is not data. */
export interface Questions {
  /** The answer; undefined once the terminal is closed, or Ctrl-C was typed. */
  ask(question: string): Promise<string | undefined>;
  /** Asks until the answer is yes or no; what was typed else is handed to `other`. */
  confirm(
    question: string,
    usual: boolean,
    other?: (answer: string) => Promise<void>,
  ): Promise<boolean | undefined>;
  close(): void;
}

export function openQuestions(): Questions {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<undefined>((resolve) => {
    terminal.once("close", () => resolve(undefined)); // by Ctrl-C and Ctrl-D as well
  });
  const ask = (question: string): Promise<string | undefined> =>
    Promise.race([line(terminal, question), closed]);
  return {
    ask,
    async confirm(question, usual, other) {
      for (;;) {
        const answer = (await ask(`${question} `))?.trim().toLowerCase();
        if (answer === undefined) return undefined;
        if (answer === "") return usual;
        if (["y", "yes"].includes(answer)) return true;
        if (["n", "no"].includes(answer)) return false;
        await other?.(answer);
      }
    },
    close: () => terminal.close(),
  };
}

/** A question to a terminal that was closed rejects: then it is `closed` that answers. */
function line(terminal: Interface, question: string): Promise<string | undefined> {
  return terminal.question(question).catch(() => undefined);
}
