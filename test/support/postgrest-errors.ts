/** An error as PostgREST answers it. */
export interface Answered {
  readonly status: number;
  readonly body: { code: string; message: string; details: string | null; hint: string | null };
}

/** One of PostgREST's own (`PGRST…`), or PostgreSQL's under its SQLSTATE. */
export function answered(
  status: number,
  code: string,
  message: string,
  { details = null, hint = null }: { details?: string | null; hint?: string | null } = {},
): Answered {
  return { status, body: { code, message, details, hint } };
}

/** SQLSTATEs, or how they begin, and the HTTP status that PostgREST gives them; the first that fits. */
const statuses: readonly (readonly [RegExp, number])[] = [
  [/^(23503|23505)$/, 409],
  [/^25006$/, 405],
  [/^(53400|57014)$/, 500],
  [/^57P01$/, 503],
  [/^(42883|42P01)$/, 404],
  [/^P0001$/, 400],
  [/^(08|53)/, 503],
  [/^(0L|0P|28)/, 403],
  [/^(09|25|2D|38|39|3B|40|54|55|57|58|F0|HV|P0|XX)/, 500],
];

/** What node-postgres threw. `authenticated`: the role is another than anon. */
export function thrown(error: unknown, authenticated: boolean): Answered {
  const { code, message, detail, hint } = error as Record<string, string | undefined>;
  const said = { details: detail ?? null, hint: hint ?? null };
  if (code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)) {
    return answered(statusOf(code, message ?? "", authenticated), code, message ?? "", said);
  }
  if (/^timeout exceeded/.test(message ?? "")) {
    return answered(504, "PGRST003", "Timed out acquiring connection from connection pool.");
  }
  const [own, text] = /^Connection terminated/.test(message ?? "")
    ? ["PGRST001", "Database client error. Retrying the connection."]
    : ["PGRST000", "Database connection error. Retrying the connection."];
  return answered(503, own, text, { details: message ?? null });
}

function statusOf(code: string, message: string, authenticated: boolean): number {
  if (code === "42501") return authenticated ? 403 : 401;
  if (code === "22023" && /^role .* does not exist$/.test(message)) return 401;
  return statuses.find(([pattern]) => pattern.test(code))?.[1] ?? 400;
}
