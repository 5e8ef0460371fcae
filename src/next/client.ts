import type { Leasehold, LeaseholdOptions } from "../client.ts";
import { accessOf, type ClientAccess } from "../client-access.ts";
import { invalidArgument } from "../errors.ts";
import { createLeasehold as createClient } from "../leasehold.ts";
import { text } from "../options.ts";
import type { WorkOptions } from "../work-options.ts";
import type { Worker } from "../worker.ts";
import { keepAliveWith } from "./keep-alive.ts";
import { processWide } from "./process-wide.ts";

/** What `createLeasehold` of leasehold/next takes. */
export interface NextLeaseholdOptions extends LeaseholdOptions {
  /** A process has one client of each name. Default "default". */
  name?: string;
}

/**
 * As `createLeasehold` of the core, for Next: `start` runs its work behind the answer (`after`), and a
 * process has one client of each name, one pool and one worker, however often the module that makes it
 * is evaluated. While developing, a later evaluation brings new handlers, which take over at once; its
 * other options are read at a restart. In production it answers the client that there is.
 *
 * Throws as the core's does, and LH002 in production where another client has the name.
 */
export function createLeasehold({ name, ...options }: NextLeaseholdOptions = {}): Leasehold {
  const key = name === undefined ? "default" : text("name", name, { maxBytes: 100 });
  const { clients } = processWide();
  // Made in any case: it opens nothing, and checks the options.
  const made = makeClient(options);
  const known = clients.get(key);
  if (known !== undefined) {
    replace(key, known, made);
    return known;
  }
  const { close } = made;
  const client = Object.assign(made, {
    work: oneOfEach(made.work),
    async close() {
      if (clients.get(key) === client) clients.delete(key);
      await close();
    },
  });
  clients.set(key, client);
  return client;
}

function makeClient(options: LeaseholdOptions): Leasehold {
  const { keepAlive = keepAliveWith((error) => access(client).failed(error, "drain", behind)) } =
    options;
  const client = createClient({ ...options, keepAlive });
  client.on("failed", ({ id, kind, status, error }) => {
    // A command would show it; here the server's log is where a developer looks.
    const message = status === "failed" ? "a job failed" : "an attempt failed; it is tried again";
    access(client).log.warn({ job: id, kind, err: error }, message);
  });
  return client;
}

const behind = "work behind an answer failed";

function replace(name: string, known: Leasehold, made: Leasehold): void {
  const { handlers, kinds } = access(made);
  if (globalThis.process?.env.NODE_ENV !== "production") {
    access(known).replaceHandlers(handlers());
    return;
  }
  const kindsOf = (list: readonly string[]): string => [...list].sort().join();
  if (kindsOf(kinds) !== kindsOf(access(known).kinds)) {
    throw invalidArgument("name", name, "another name: a client with other handlers has this one");
  }
}

/** Missing only where two versions of the package met. */
function access(client: Leasehold): ClientAccess {
  const found = accessOf(client);
  if (found === undefined) throw invalidArgument("leasehold", client, "what createLeasehold made");
  return found;
}

/** `work` that answers the worker for the same kinds while there is one. */
function oneOfEach(work: Leasehold["work"]): Leasehold["work"] {
  const workers = new Map<string, Worker>();
  return (options: WorkOptions = {}) => {
    const key = JSON.stringify(options.kinds && [...options.kinds].sort()) ?? "";
    const known = workers.get(key);
    if (known && ["starting", "working"].includes(known.health().state)) return known;
    const worker = work(options);
    workers.set(key, worker);
    return worker;
  };
}
