import type { Database } from "./database.ts";

/**
 * `call` over one connection: each waits for the one before, and `check`, which throws where the
 * connection is gone, is asked right before it. Drivers differ in what they do with a call that
 * comes while another runs: refuse it, queue it, or run it on a new connection when this one is lost.
 */
export function oneAtATime(call: Database["call"], check: () => void): Database["call"] {
  let last: Promise<unknown> = Promise.resolve();
  return (name, args) => {
    const answer = last.then(() => {
      check();
      return call(name, args);
    });
    last = answer.catch(() => undefined);
    return answer;
  };
}
