import type { FunctionName } from "../functions.ts";
import type { Visitor } from "./access.ts";
import { filterOf } from "./filter.ts";
import { badRequest, jobIdOf, lookAt } from "./query.ts";
import type { Settings } from "./settings.ts";

type Body = Readonly<Record<string, unknown>>;
type Action = (settings: Settings, body: Body, visitor: Visitor) => Promise<unknown>;

const maxIds = 10_000;

/** The most jobs that one request of "all that match" takes; the page asks again from there. */
const atOnce = 500;

/** What an admin may do, by `action` of the body. Each answers what its SQL function answers. */
export const actions: Readonly<Record<string, Action>> = {
  retry: onJobs("retry_many"),
  cancel: onJobs("cancel_many"),
  run_now: onJobs("run_now_many"),
  remove: onJobs("remove_many"),
  pause: async ({ database }, body) => ({
    changed: await database.call("pause", { p_kind: nameOf(body, "kind") }),
  }),
  resume: async ({ database }, body) => ({
    changed: await database.call("resume", { p_kind: nameOf(body, "kind") }),
  }),
  acknowledge: async ({ database }, body, { name }) => ({
    acknowledged: await database.call("acknowledge_alerts", {
      p_ids: numbersOf(body.ids),
      ...(name !== null && { p_by: name }),
    }),
  }),
};

/**
 * On the jobs that the body names by `ids`, or by a `filter`: of these up to `atOnce`, with the place
 * from which to go on as `next`.
 */
function onJobs(name: FunctionName): Action {
  return async ({ database }, { ids, filter, ...others }) => {
    const [other] = Object.keys(others).filter((given) => given !== "action");
    if (other !== undefined) throw badRequest(`${other} is not known here.`);
    if ((ids === undefined) === (filter === undefined)) {
      throw badRequest("Name the jobs by either ids or filter.");
    }
    if (ids !== undefined) return database.call(name, { p_filter: { ids: idsOf(ids) } });
    const p_filter = { ...matching(filter), limit: atOnce, look_at: lookAt };
    const page = (await database.call("list", { p_filter })) as Page;
    if (page.jobs.length === 0) return { skipped: [], next: page.next };
    const found = { ids: page.jobs.map(({ id }) => id) };
    const answered = await database.call(name, { p_filter: found });
    return { ...(answered as object), next: page.next };
  };
}

interface Page {
  readonly jobs: readonly { readonly id: string }[];
  readonly next: string | null;
}

function idsOf(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxIds) {
    throw badRequest(`ids must be an array of 1 to ${maxIds} ids.`);
  }
  return value.map(jobIdOf);
}

function matching(value: unknown): object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest("filter must be an object.");
  }
  const given = value as Body;
  // One that is not understood would name more jobs than were meant.
  const known = ["kind", "key", "owner", "error_code", "status", "after"];
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw badRequest(`filter has no ${unknown}.`);
  const { after } = given;
  return {
    ...filterOf((name) => given[name]),
    ...(after !== undefined && { after: jobIdOf(after) }),
  };
}

function nameOf(body: Body, name: string): string {
  const value = body[name];
  if (typeof value === "string" && value !== "") return value;
  throw badRequest(`${name} must be text.`);
}

function numbersOf(value: unknown): number[] {
  if (Array.isArray(value) && value.length <= maxIds && value.every(Number.isSafeInteger)) {
    return value;
  }
  throw badRequest("ids must be an array of the ids of alerts.");
}
