import type { Arguments } from "../database.ts";
import { argumentTypes, type FunctionName } from "../functions.ts";

/**
 * The most rows that one claim asks for. PostgREST cuts the rows of an answer at its `max-rows` (1,000
 * on Supabase) after the function has run: what it cuts off would be claimed and seen by nobody.
 */
export const maxClaimed = 100;

/**
 * The arguments as PostgREST takes them: one JSON object, of which it makes a record of the function's
 * types. jsonb stays what it is; all else travels as text, which PostgreSQL reads as it reads that of
 * the other databases. What is undefined is left out, and null is SQL's null.
 */
export function jsonArguments(name: FunctionName, args: Arguments): Record<string, unknown> {
  const types = argumentTypes[name] as Record<string, string>;
  const given = Object.entries(args).filter(([, value]) => value !== undefined);
  const encoded = given.map(([argument, value]) => [argument, encode(types[argument], value)]);
  return capped(name, Object.fromEntries(encoded));
}

function encode(type: string | undefined, value: unknown): unknown {
  if (value === null || type === "jsonb") return value;
  return type?.endsWith("[]") ? (value as unknown[]).map(String) : String(value);
}

function capped(name: FunctionName, args: Record<string, unknown>): Record<string, unknown> {
  const asked = name === "claim" ? Number(args.p_limit) : 0;
  return asked > maxClaimed ? { ...args, p_limit: String(maxClaimed) } : args;
}
