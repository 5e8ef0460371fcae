import { Failure } from "../http-answer.ts";
import { readJson } from "../http-body.ts";
import { isJobId } from "../text-forms.ts";

/** The largest body of an action: ten thousand ids. */
const maxBodyBytes = 500_000;

/** The most jobs that a page or its numbers look at: a rare job among millions must not keep it waiting. */
export const lookAt = 10_000;

export function badRequest(message: string): Failure {
  return new Failure(400, "BAD_REQUEST", message);
}

/** A parameter of the URL; undefined where it is absent or empty. */
export function textOf(params: URLSearchParams, name: string): string | undefined {
  return params.get(name) || undefined;
}

/** Undefined where it is absent or empty. Throws 400 for what is no such number. */
export function integerOf(
  params: URLSearchParams,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const given = textOf(params, name);
  if (given === undefined) return undefined;
  const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw badRequest(`${name} must be a whole number from ${min} to ${max}.`);
}

export function jobIdOf(value: unknown): string {
  if (typeof value === "string" && isJobId(value)) return value;
  throw badRequest("A job's id is a uuid.");
}

/** Reads the JSON object of a request. Throws 400, 413, 415. */
export async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const body = await readJson(request, maxBodyBytes);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>;
  }
  throw badRequest("The body must be a JSON object.");
}
