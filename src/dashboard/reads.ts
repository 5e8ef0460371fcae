import { filterOf } from "./filter.ts";
import { badRequest, integerOf, jobIdOf, lookAt, textOf } from "./query.ts";
import { applied } from "./redact.ts";
import type { Settings } from "./settings.ts";

type Read = (settings: Settings, params: URLSearchParams) => Promise<unknown>;

/** What the page asks for, by the parameter `api`. */
export const reads: Readonly<Record<string, Read>> = {
  overview: ({ database }, params) =>
    database.call("overview", {
      p_period_ms: integerOf(params, "period_ms", { min: 60_000, max: 2_678_400_000 }),
    }),

  async jobs({ database }, params) {
    const after = textOf(params, "after");
    const id = textOf(params, "id");
    if (id !== undefined) return database.call("list", { p_filter: { ids: [jobIdOf(id)] } });
    return database.call("list", {
      p_filter: {
        ...filterOf((name) => params.get(name)),
        limit: integerOf(params, "limit", { min: 1, max: 500 }) ?? 50,
        look_at: lookAt,
        ...(after !== undefined && { after: jobIdOf(after) }),
      },
    });
  },

  counts({ database }, params) {
    const { status: _, ...filter } = filterOf((name) => params.get(name));
    return database.call("counts", { p_filter: { ...filter, look_at: lookAt } });
  },

  async job({ database, redact }, params) {
    const found = await database.call("inspect", { p_id: jobIdOf(params.get("id")) });
    if (found === null) return null;
    const shown: Record<string, unknown> = { ...(found as object) };
    for (const name of ["payload", "progress", "result", "rerun"]) {
      if (shown[name] !== null) shown[name] = applied(redact, shown[name], [name]);
    }
    return shown;
  },

  async kinds({ database }) {
    const [kinds, timings] = await Promise.all([
      database.call("kinds", {}),
      database.call("timings", {}),
    ]);
    return { ...(kinds as object), timings: (timings as { kinds: unknown }).kinds };
  },

  accounts: ({ database }, params) =>
    database.call("accounts", { p_limit: 100, p_after: textOf(params, "after") }),

  async account({ database }, params) {
    const p_account = textOf(params, "account");
    if (p_account === undefined) throw badRequest("account must be the name of an account.");
    const p_before = beforeOf(params);
    const [credits, entries, holds] = await Promise.all([
      database.call("credits", { p_account }),
      database.call("entries", { p_account, p_limit: 100, p_before }),
      database.call("holds", { p_account, p_limit: 100 }),
    ]);
    return { credits, ...(entries as object), holds };
  },

  check: ({ database }) => database.call("verify_credits", {}),

  workers: ({ database }) => database.call("workers", {}),

  alerts: ({ database }, params) =>
    database.call("alerts", {
      p_limit: 100,
      p_before: beforeOf(params),
      p_open: params.get("open") === "1",
    }),
};

/** The place where the page before ended, in lists that go by numbers. */
function beforeOf(params: URLSearchParams): number | undefined {
  return integerOf(params, "before", { min: 1, max: 1e15 });
}
