/** What of Node's AsyncLocalStorage is used here; other runtimes have it under the same name. */
interface Storage {
  run<T>(store: unknown, work: () => T): T;
  getStore(): unknown;
}

const storage = makeStorage();

/** Runs `work` so that whatever it calls, also later, can be told by `insideOf` to come from it. */
export function runInside<T>(what: object, work: () => T): T {
  return storage === undefined ? work() : storage.run(what, work);
}

/** Inside of what this code runs; undefined where nothing is, or the runtime can't tell. */
export function insideOf(): unknown {
  return storage?.getStore();
}

/** Without an import, which runtimes and bundlers that lack the module would choke on. */
function makeStorage(): Storage | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const hooks = process?.getBuiltinModule?.("node:async_hooks") as
    | { AsyncLocalStorage: new () => Storage }
    | undefined;
  return hooks && new hooks.AsyncLocalStorage();
}
