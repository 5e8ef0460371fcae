import type { Leasehold } from "../client.ts";
import { type Handled, isDefinition, isHandled, type JobDefinition } from "../define.ts";
import { attempt } from "../describe-error.ts";
import { exitCodes } from "./exit-codes.ts";
import { CliError } from "./failure.ts";

/** What the commands that run jobs need of a client. */
export type RunnableClient = Pick<Leasehold, "drain" | "work" | "on" | "close">;

/** What a module offers to run: a client of its own, or handlers. */
export type Runnable =
  | { readonly client: RunnableClient }
  | { readonly handlers: readonly Handled[] };

/** How deep handlers may lie in the arrays and objects that a module exports. */
const maxDepth = 4;

/**
 * Finds what a module exports to run. A client is used as it is, and then loose handlers beside it
 * are taken to be its own. Handlers are known by their shape, so that those made by another copy of
 * this package count.
 *
 * Throws an error of one line when there is nothing to run, or no one way to do so.
 */
export function findRunnable(file: string, module: unknown): Runnable {
  const found = {
    clients: new Set<unknown>(),
    handlers: new Set<Handled>(),
    kinds: new Set<string>(),
  };
  collect(module, 0, new Set());
  const [client, otherClient] = found.clients;
  if (otherClient !== undefined) {
    throw exportsError(`${file} exports more than one client.`, "Export the one to run.");
  }
  if (client !== undefined) return { client: client as Leasehold };
  const handlers = [...found.handlers];
  if (handlers.length === 0) throw nothingError(file, [...found.kinds]);
  checkKinds(file, handlers);
  return { handlers };

  function collect(value: unknown, depth: number, seen: Set<unknown>): void {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (attempt(() => isHandled(value))) found.handlers.add(value as Handled);
    else if (attempt(() => isClient(value))) found.clients.add(value);
    else if (attempt(() => isDefinition(value))) found.kinds.add((value as JobDefinition).kind);
    else if (depth < maxDepth && (depth === 0 || isPlain(value))) {
      // A proxy, or a getter, may throw whenever it is looked at; then it is none of ours.
      const inner = attempt(() => Object.values(value)) ?? [];
      for (const each of inner) collect(each, depth + 1, seen);
    }
  }
}

function isClient(value: object): boolean {
  const { drain, enqueue, database } = value as Record<string, unknown>;
  return typeof drain === "function" && typeof enqueue === "function" && database !== undefined;
}

/** Arrays and plain objects alone: to look into a pool or a schema could run its getters. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

function checkKinds(file: string, handlers: readonly Handled[]): void {
  const kinds = handlers.map((handled) => handled.definition.kind);
  const twice = kinds.find((kind, i) => kinds.indexOf(kind) !== i);
  if (twice === undefined) return;
  throw exportsError(
    `${file} exports two handlers for the kind ${JSON.stringify(twice)}.`,
    "Export one handler for each kind.",
  );
}

function nothingError(file: string, kinds: readonly string[]): CliError {
  if (kinds.length === 0) {
    const hint =
      "Export what handle(definition, fn) answered, or a client made by createLeasehold.";
    return exportsError(`${file} exports no handler.`, hint);
  }
  return exportsError(
    `${file} exports definitions alone (${kinds.join(", ")}), which hold no handler.`,
    "Wrap each in handle(definition, async (job) => { … }) and export that.",
  );
}

function exportsError(problem: string, hint: string): CliError {
  return new CliError(exitCodes.failed, problem, hint);
}
