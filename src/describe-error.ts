import { show } from "./errors.ts";
import { type JsonObject, toJson } from "./json.ts";

/** What is stored of a failure; always plain JSON that jsonb can hold. */
export interface ErrorDescription {
  /** "ECONNRESET", "23505", "HTTP_503", "TypeError"; at most 100 word characters. */
  code: string;
  /** Never empty, at most `maxMessageLength` characters. */
  message: string;
  /** For errors: `name`, the HTTP `status` and the `stack`, each where there is one. */
  details?: JsonObject;
}

/** The most characters (UTF-16 units) of a stored error message, and of a stored stack. */
export const maxMessageLength = 4_000;

/** How many of an error's causes, and of the errors within an AggregateError, are looked at. */
const maxFollowed = 5;

/**
 * Describes whatever was thrown: an error, a string, undefined, an object with getters that throw.
 * Never throws, and costs no more for a message of 5 MB than for one that fits.
 *
 * The message tells the whole chain: "outer; caused by inner", and for an AggregateError "All
 * promises were rejected: a; b". The code is the error's own `code` where that is a short word,
 * else `HTTP_<status>`, else the code of a cause (`fetch` throws a TypeError whose cause is the
 * ECONNREFUSED), else the error's name, else "ERROR".
 */
export function describeError(thrown: unknown): ErrorDescription {
  const description = { code: codeOf(thrown), message: messageOf(thrown) };
  const details = detailsOf(thrown);
  return Object.keys(details).length > 0 ? { ...description, details } : description;
}

/**
 * `thrown` and its causes, from the outside in: five at most, of any type, and never one twice.
 */
export function causeChain(thrown: unknown): unknown[] {
  const chain = [thrown];
  for (let cause = causeOf(thrown); cause !== undefined && cause !== null; ) {
    if (chain.length > maxFollowed || chain.includes(cause)) break;
    chain.push(cause);
    cause = causeOf(cause);
  }
  return chain;
}

/** supabase-js' storage keeps what `fetch` threw as `originalError`. */
function causeOf(error: unknown): unknown {
  return read(error, "cause") ?? read(error, "originalError");
}

/**
 * The HTTP status, 400 to 599, that one error carries itself: at `status` or `statusCode`, its own
 * or its response's. Undefined where there is none.
 */
export function httpStatus(error: unknown): number | undefined {
  const response = read(error, "response");
  return [error, response].map(ownStatus).find((status) => status !== undefined);
}

/**
 * Supabase's storage answers most refusals with 400, and says in words of the body what it means: "403"
 * for a key without rights, "404" for an object that is not there.
 */
function ownStatus(holder: unknown): number | undefined {
  const [status, statusCode] = [read(holder, "status"), read(holder, "statusCode")];
  const meant = Number(typeof statusCode === "string" && status === 400 ? statusCode : Number.NaN);
  return [meant, status, statusCode].find((each): each is number => isFailure(each));
}

function isFailure(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599;
}

/** A property of anything; undefined where it can't be read (a throwing getter, a dead proxy). */
export function read(holder: unknown, property: PropertyKey): unknown {
  return attempt(() => (holder as Record<PropertyKey, unknown> | undefined)?.[property]);
}

/** What `get` answers, or undefined when it throws. */
export function attempt<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}

/**
 * Text that is fit for jsonb and a terminal, at most `maxLength` UTF-16 units: cut between
 * characters (with "…"), half surrogate pairs and control characters other than \n and \t replaced
 * by U+FFFD.
 */
export function cleanText(text: string, maxLength: number): string {
  let kept = text;
  if (text.length > maxLength) {
    // Beyond U+FFFF: the last character that would fit is a pair, and the cut goes through it.
    const throughPair = (text.codePointAt(maxLength - 2) ?? 0) > 0xffff;
    kept = `${text.slice(0, throughPair ? maxLength - 2 : maxLength - 1)}…`;
  }
  return kept
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "\uFFFD");
}

function codeOf(thrown: unknown): string {
  const chain = causeChain(thrown);
  const [own, ...inherited] = chain.map((link) => word(read(link, "code")));
  if (own !== undefined) return own;
  const status = chain.map(httpStatus).find((found) => found !== undefined);
  if (status !== undefined) return `HTTP_${status}`;
  const name = word(read(thrown, "name"));
  return (
    inherited.find((code) => code !== undefined) ?? (name === "Error" ? undefined : name) ?? "ERROR"
  );
}

/** `value` where it is fit for a code: one short word. */
function word(value: unknown): string | undefined {
  return typeof value === "string" && /^\w{1,100}$/.test(value) ? value : undefined;
}

function messageOf(thrown: unknown): string {
  const chain = causeChain(thrown);
  // A long message leaves room for its cause, which is the line that one looks for.
  const share = chain.length > 1 ? 0.75 * maxMessageLength : maxMessageLength;
  const said: string[] = [];
  for (const link of chain) {
    const text = cleanText(textOf(link), share);
    // Many a wrapper repeats the message of its cause.
    if (!said.some((before) => before.includes(text))) said.push(text);
  }
  return cleanText(said.join("; caused by "), maxMessageLength);
}

/** One error without its causes; `depth` counts AggregateErrors, which can hold themselves. */
function textOf(value: unknown, depth = 0): string {
  const isObject = typeof value === "object" || typeof value === "function";
  const own = isObject ? read(value, "message") : value;
  const inner = depth < 2 ? innerTexts(value, depth + 1) : [];
  const head = ownText(own) ?? (inner.length > 0 ? word(read(value, "name")) : nothingSaid(value));
  return inner.length > 0 ? `${head ?? "several errors"}: ${inner.join("; ")}` : `${head}`;
}

/** A message, or a thrown value in place of one; undefined when it says nothing. */
function ownText(message: unknown): string | undefined {
  if (message === undefined || message === null) return undefined;
  if (typeof message !== "string") return preview(message);
  // One more than is kept, so that the rest is known to be missing.
  const start = message.slice(0, maxMessageLength + 1);
  return start.trim() === "" ? undefined : start;
}

function nothingSaid(value: unknown): string {
  const status = httpStatus(value);
  if (status !== undefined) return `HTTP ${status}`;
  const name = word(read(value, "name"));
  return name === undefined
    ? `thrown without a message: ${preview(value)}`
    : `${name} without a message`;
}

/** As JSON where that is short: toJson gives up early, and a huge object must not stall the worker. */
function preview(value: unknown): string {
  if (typeof value !== "object" || value === null) return show(value);
  return attempt(() => toJson(value, { maxBytes: 500 })) ?? "an object";
}

/** What the errors within an AggregateError say, the first five of them. */
function innerTexts(value: unknown, depth: number): string[] {
  const errors = read(value, "errors");
  const count = attempt(() => (Array.isArray(errors) ? errors.length : 0)) ?? 0;
  const texts = Array.from({ length: Math.min(count, maxFollowed) }, (_, i) =>
    textOf(read(errors, i), depth),
  );
  return count > maxFollowed ? [...texts, `and ${count - maxFollowed} more`] : texts;
}

function detailsOf(thrown: unknown): JsonObject {
  const [name, stack] = [read(thrown, "name"), read(thrown, "stack")];
  const status = causeChain(thrown)
    .map(httpStatus)
    .find((found) => found !== undefined);
  const details: JsonObject = {};
  if (typeof name === "string" && name !== "") details.name = cleanText(name, 100);
  if (status !== undefined) details.status = status;
  if (typeof stack === "string" && stack !== "") details.stack = cleanText(stack, maxMessageLength);
  return details;
}

/** Code and message: where a connection broke, the stack tells nothing. */
export function briefly(error: unknown): { code: string; message: string } {
  const { code, message } = describeError(error);
  return { code, message };
}
