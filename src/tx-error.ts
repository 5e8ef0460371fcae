/**
 * What PostgreSQL said, wherever the library around it put that: Prisma hides it in
 * `meta.driverAdapterError.cause`, others in a chain of causes, Knex writes the statement with all
 * its values in front of the message.
 */
interface Said {
  readonly code: string;
  readonly message: string;
  readonly hint?: unknown;
  readonly detail?: unknown;
  readonly where?: unknown;
}

/**
 * The error to go on with: the given one where its `code` is PostgreSQL's SQLSTATE, one that carries
 * SQLSTATE, message and hint and has the given one as its cause where they were hidden, and again
 * the given one where it is none of PostgreSQL's. `statementEnd` is how the text of the statement
 * ends.
 */
export function unwrapped(error: unknown, statementEnd: string): unknown {
  const said = search(error, 0);
  if (said === undefined) return error;
  const message = withoutStatement(said.message, statementEnd);
  const hidden = said.code !== (error as { code?: unknown }).code;
  const ours = said.code.startsWith("LH") && message !== said.message;
  if (!hidden && !ours) return error;
  // Where a function was missing is told by `where` alone, which Prisma drops.
  const inside = said.code === "42883" && !/enqueue/.test(message) ? "unknown" : undefined;
  const { code, hint, detail, where = inside } = said;
  return Object.assign(new Error(message, { cause: error }), { code, hint, detail, where });
}

const places = ["cause", "meta", "driverAdapterError", "original", "parent"];

function search(value: unknown, depth: number): Said | undefined {
  if (typeof value !== "object" || value === null || depth > 6) return undefined;
  const fields = value as Record<string, unknown>;
  const code = [fields.code, fields.originalCode].find(isSqlState);
  if (code !== undefined) {
    const message = String(fields.originalMessage ?? fields.message ?? "");
    return { ...(fields as object), code, message };
  }
  for (const place of places) {
    const found = search(fields[place], depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Five characters, and neither a code of Prisma's (P2010) nor of the system's (EPIPE). */
function isSqlState(code: unknown): code is string {
  return typeof code === "string" && /^(?!P[1-9])(?=.*\d)[0-9A-Z]{5}$/.test(code);
}

function withoutStatement(message: string, statementEnd: string): string {
  const marker = `${statementEnd} - `;
  const at = message.lastIndexOf(marker);
  return at < 0 ? message : message.slice(at + marker.length);
}
