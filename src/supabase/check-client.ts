import { leaseholdError, show } from "../errors.ts";

/** Throws LH107 for what is no Supabase client, with what to pass in place of it. */
export function checkClient(value: unknown): void {
  const has = (name: string): boolean =>
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === "function";
  if (has("schema") && has("rpc")) return;
  // Never shown: it may be a key, or a URL with a password.
  if (typeof value === "string") throw notAccepted("a string");
  if (has("rpc")) {
    throw notAccepted(
      "a client without schema()",
      "Upgrade @supabase/supabase-js to 2.45 or newer.",
    );
  }
  if (has("select") || has("eq")) {
    throw notAccepted("a query", "Pass the client that it was made with.");
  }
  if (has("then")) {
    throw notAccepted("a promise", "Await the client first: supabase(await createClient()).");
  }
  if (has("query") && has("connect")) {
    throw notAccepted("a pool or connection", "Use pg(pool) of leasehold/pg.");
  }
  const isObject = typeof value === "object" && value !== null;
  throw notAccepted(isObject ? "another object" : show(value));
}

function notAccepted(
  given: string,
  hint = "Pass what createClient(url, key) of @supabase/supabase-js answers.",
): Error {
  return leaseholdError("LH107", `supabase() was given ${given}`, hint);
}
