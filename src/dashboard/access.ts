import { Failure, isResponse } from "../http-answer.ts";
import type { Settings } from "./settings.ts";

/** "admin" sees and acts, "read" sees. */
export type DashboardRole = "admin" | "read";

/** What `authorize` answers: a role, with the name that an acknowledgement is kept under; or nothing. */
export type DashboardAccess =
  | DashboardRole
  | { readonly role: DashboardRole; readonly name?: string }
  | null
  | undefined
  | false;

export interface Visitor {
  readonly role: DashboardRole;
  readonly name: string | null;
}

/**
 * Who asks. Throws 404 where it is nobody, so that the page is not found by those who may not see it;
 * and whatever Response `authorize` throws or answers, such as a redirect to where one signs in.
 */
export async function visitorOf(settings: Settings, request: Request): Promise<Visitor> {
  if (settings.authorize === undefined) return ownMachine(settings);
  const access: unknown = await settings.authorize(request);
  if (isResponse(access)) throw access;
  const { role, name } = (typeof access === "string" ? { role: access } : (access ?? {})) as {
    role?: unknown;
    name?: unknown;
  };
  // Only these two words open it: a promise that was not awaited, or `true`, is no role.
  if (role !== "admin" && role !== "read") throw notFound();
  return { role, name: typeof name === "string" && name.trim() !== "" ? name.slice(0, 100) : null };
}

const told = new WeakSet<Settings>();

/** Without `authorize` it is open while one develops, and nowhere else. */
function ownMachine(settings: Settings): Visitor {
  if (globalThis.process?.env.NODE_ENV === "development") return { role: "admin", name: null };
  if (!told.has(settings)) {
    settings.log.warn(
      {},
      'the dashboard is closed: pass `authorize: (request) => "admin", "read" or null`, or, on your own machine, set NODE_ENV=development',
    );
  }
  told.add(settings);
  throw notFound();
}

export function notFound(): Failure {
  return new Failure(404, "NOT_FOUND", "There is nothing here.");
}
