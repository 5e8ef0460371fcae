import { setTimeout as pause } from "node:timers/promises";
import { add, type Books } from "./books.ts";

/**
 * What a call may fail with while servers are killed and networks cut: a lost connection, by SQLSTATE
 * or by Node's code, or a time limit. A call that fails with anything else, failed by its own fault.
 */
const expected =
  /^(08\w{3}|57P0[1-5]|25P0[34]|58\w{3}|E[A-Z]{3,}|CONNECTION_\w+|CONNECT_TIMEOUT|none)$/;

/** A time limit and a lost connection of node-postgres have no code. */
const expectedText = /timeout|Connection terminated|Client has encountered|not queryable/i;

/** Notes what a call failed with, and whether that is a violation. Answers undefined. */
export function note(books: Books, who: string, error: unknown): undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const name = typeof code === "string" ? code : "none";
  add(books.troubles, name, 1);
  if (!expected.test(name) || (name === "none" && !expectedText.test(String(message)))) {
    books.blame("no call fails by its own fault", `${who}: ${name} ${String(message)}`);
  }
}

/** Calls once. Undefined where the answer was lost. */
export function once<T>(books: Books, who: string, call: () => Promise<T>): Promise<T | undefined> {
  return call().catch((error) => note(books, who, error));
}

/** A minute at least: many times as long as the server is ever away. */
const mostTries = 300;

/** Calls until it is answered: for what may be repeated. Throws where it never is. */
export async function answered<T>(books: Books, who: string, call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      note(books, who, error);
      if (tries === mostTries) throw error;
      await pause(200);
    }
  }
}
