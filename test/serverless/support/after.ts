import { AsyncLocalStorage } from "node:async_hooks";

type Task = () => Promise<void>;

/** One request, with the work that it has left behind its response. */
interface Invocation {
  readonly tasks: Task[];
  begin: ((task: Task) => void) | undefined;
}

const invocations = new AsyncLocalStorage<Invocation>();

/**
 * `after` of next/server: the task runs once the response was sent, and the platform waits for its end.
 * Throws outside of a request, as Next's does.
 */
export function after(task: Task): void {
  const invocation = invocations.getStore();
  if (invocation === undefined) throw new Error("`after` was called outside a request scope");
  if (invocation.begin === undefined) invocation.tasks.push(task);
  else invocation.begin(task);
}

/**
 * Answers a request. `over` resolves when it is answered, `sent` has resolved, and all work behind it,
 * that which such work has left behind included, has ended.
 */
export function invoke(
  answer: () => Promise<Response>,
  sent: Promise<unknown>,
): { readonly response: Promise<Response>; readonly over: Promise<void> } {
  const invocation: Invocation = { tasks: [], begin: undefined };
  const response = invocations.run(invocation, answer);
  return { response, over: endOf(invocation, Promise.allSettled([response, sent])) };
}

async function endOf(invocation: Invocation, answered: Promise<unknown>): Promise<void> {
  await answered;
  const running = new Set<Promise<void>>();
  invocation.begin = (task) => {
    const run = invocations.run(invocation, task).catch((error: unknown) => console.error(error));
    running.add(run);
    void run.finally(() => running.delete(run));
  };
  for (const task of invocation.tasks) invocation.begin(task);
  while (running.size > 0) await Promise.all(running);
}
