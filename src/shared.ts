/**
 * Pools and embedded databases that are opened once per process however often their module is
 * evaluated: a development server that reloads modules would otherwise open one more at each change
 * until the server has no connection left, or find its own data folder locked.
 *
 * The registry hangs on globalThis, so that a second copy of this module finds it; its name carries
 * the version of its shape.
 */
interface Resource {
  users: number;
  opening: Promise<unknown>;
  closing?: Promise<void>;
}

const registryName = Symbol.for("leasehold.shared.1");

/** One user's hold on a shared resource. */
export interface Share<T> {
  readonly value: T;
  /** Gives the hold back; the last one closes the resource and waits for that. Safe to repeat. */
  release(): Promise<void>;
}

/**
 * Answers the resource named `key`, opening it when nobody in this process has it. One that is
 * being closed is waited for and opened anew. Rejects as `open` does; a failure is not kept.
 */
export async function share<T>(
  key: string,
  open: () => Promise<T>,
  close: (value: T) => Promise<void>,
): Promise<Share<T>> {
  const resources = registry();
  for (let known = resources.get(key); known?.closing; known = resources.get(key)) {
    await known.closing.catch(() => undefined);
  }
  const resource = resources.get(key) ?? { users: 0, opening: open() };
  resources.set(key, resource);
  resource.users += 1;
  const value = (await resource.opening.catch((error: unknown) => {
    forget(key, resource);
    throw error;
  })) as T;

  let released = false;
  const release = async (): Promise<void> => {
    if (!released) {
      released = true;
      resource.users -= 1;
      if (resource.users === 0) {
        resource.closing = close(value).finally(() => forget(key, resource));
      }
    }
    await resource.closing;
  };
  return { value, release };
}

function registry(): Map<string, Resource> {
  const holder = globalThis as { [registryName]?: Map<string, Resource> };
  holder[registryName] ??= new Map();
  return holder[registryName];
}

function forget(key: string, resource: Resource): void {
  if (registry().get(key) === resource) registry().delete(key);
}
