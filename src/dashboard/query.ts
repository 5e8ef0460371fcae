import { Failure } from "../http-answer.ts";
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

export function integerOf(
  params: URLSearchParams,
  name: string,
  { min, max, otherwise }: { min: number; max: number; otherwise: number },
): number {
  const given = textOf(params, name);
  if (given === undefined) return otherwise;
  const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw badRequest(`${name} must be a whole number from ${min} to ${max}.`);
}

export function jobIdOf(value: unknown): string {
  if (typeof value === "string" && isJobId(value)) return value;
  throw badRequest("A job's id is a uuid.");
}

/** Reads the JSON object of a request. Throws 413 and 400. */
export async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBodyBytes) throw tooLarge();
  const text = await request.text();
  if (text.length > maxBodyBytes) throw tooLarge();
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body)) {
      return body as Record<string, unknown>;
    }
  } catch {}
  throw badRequest("The body must be a JSON object.");
}

function tooLarge(): Failure {
  return new Failure(413, "TOO_LARGE", "Select fewer jobs.");
}
