import { type LeaseholdError, leaseholdError, show } from "./errors.ts";
import { pathText, tooLarge, utf8Bytes } from "./options.ts";

/** What JSON can say. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** How `toJsonValue` names the value in messages, and bounds it. */
export interface JsonOptions {
  /** The root of the paths in messages: "payload" (the default), "result". */
  readonly what?: string;
  /** The most bytes of UTF-8 that the JSON text may take. Default 1,048,576. */
  readonly maxBytes?: number;
}

/** How many levels deep a value may be nested. */
export const maxJsonDepth = 500;

/**
 * A deep copy of `value` that consists of plain JSON values only and comes back from a jsonb column
 * as it went in. Hand on the copy: the original may change, and reading it runs its getters again.
 *
 * As `JSON.stringify` does, it drops undefined properties, ignores symbol keys, writes a date as
 * ISO 8601 text and honours `toJSON`; undefined itself becomes null. But nothing is lost in
 * silence: what JSON would throw on, empty or turn into null (1n, NaN, a Map, a function, undefined
 * in an array) is refused, and so is text that jsonb can't hold (NUL, half a surrogate pair).
 *
 * Throws LH103, which names the path (`payload.items[2].price`) and how to convert what is there;
 * LH004 above `maxBytes`.
 */
export function toJsonValue(value: unknown, options: JsonOptions = {}): JsonValue {
  const { what = "payload", maxBytes = 1_048_576 } = options;
  // Most handlers answer nothing.
  if ((value === undefined || value === null) && maxBytes >= 4) return null;
  const walk = new Walk(what, maxBytes);
  const copy = walk.start(value);
  if (walk.bytes * mostBytesPerByteCounted > maxBytes) {
    const bytes = utf8Bytes(JSON.stringify(copy));
    if (bytes > maxBytes) throw tooLarge(what, `${bytes} bytes of JSON`, maxBytes);
  }
  return copy;
}

/**
 * The JSON text of `value` under the rules of `toJsonValue`, for a caller that sends text. One that
 * passes an argument to `Database.call` takes `toJsonValue`, or the text would be encoded twice.
 */
export function toJson(value: unknown, options: JsonOptions = {}): string {
  return JSON.stringify(toJsonValue(value, options));
}

/**
 * The walk counts two bytes for a value, and for text its length, which is never too much. A number
 * with its comma takes 25 at most, and "\u0001" six for one: only a value within this factor of its
 * limit has to be written out to be measured.
 */
const mostBytesPerByteCounted = 13;

/**
 * Where a walk gives up, in multiples of the limit. A value that contains its parts many times over
 * can be exponentially larger as JSON; short of that, the message names the whole size.
 */
const giveUpFactor = 8;

const ownProperty = { enumerable: true, configurable: true, writable: true };

/** One pass over a value; `path` and `ancestors` are the stack down to where it stands. */
class Walk {
  bytes = 0;
  readonly #what: string;
  readonly #maxBytes: number;
  readonly #path: PropertyKey[] = [];
  readonly #ancestors: object[] = [];
  #refusal: LeaseholdError | undefined;

  constructor(what: string, maxBytes: number) {
    this.#what = what;
    this.#maxBytes = maxBytes;
  }

  start(value: unknown): JsonValue {
    try {
      return this.#copy(value) ?? null;
    } catch (error) {
      if (error === this.#refusal) throw error;
      const threw = "can't be read: its getter, toJSON or proxy threw (see the cause)";
      throw this.#refuse(threw, "Give a plain value.", { cause: error });
    }
  }

  #copy(value: unknown): JsonValue | undefined {
    if (value === undefined) return undefined;
    this.#count(2);
    switch (typeof value) {
      case "string":
        return this.#text(value, "text");
      case "boolean":
        return value;
      case "number":
        if (Number.isFinite(value)) return value + 0; // -0 becomes 0, as in JSON.
        throw this.#refuse(`is ${value}`, "JSON has no such number: give null or text.");
      case "object":
        return value === null ? null : this.#object(value, true);
      case "bigint":
        throw this.#refuse(`is ${show(value)}`, conversions.get("BigInt"));
      default:
        throw this.#refuse(`is a ${typeof value}`, "JSON has no form for it: leave it out.");
    }
  }

  #object(value: object, honourToJson: boolean): JsonValue | undefined {
    const kind = kindOf(value);
    if (kind === "Date" && Number.isNaN((value as Date).getTime())) {
      throw this.#refuse("is an invalid date", "Give a valid date, or null.");
    }
    // Before toJSON, since a Buffer's own would write every byte as a number.
    if (kind === "binary data") throw this.#refuse(`is ${kind}`, conversions.get(kind));
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function" && (honourToJson || kind === "Date")) {
      const json: unknown = toJSON.call(value, String(this.#path.at(-1) ?? ""));
      // Not honoured again, as in JSON: a toJSON may well answer the object itself.
      return typeof json === "object" && json ? this.#object(json, false) : this.#copy(json);
    }
    if (kind === "Number") return this.#copy(Number(value));
    if (kind === "String") return this.#copy(String(value));
    if (kind === "Boolean") return Boolean.prototype.valueOf.call(value);
    if (conversions.has(kind)) throw this.#refuse(`is of type ${kind}`, conversions.get(kind));
    return this.#parts(value);
  }

  #parts(value: object): JsonValue {
    const at = this.#ancestors.indexOf(value);
    if (at >= 0) {
      const whole = pathText(this.#what, this.#path.slice(0, at));
      throw this.#refuse(`is a circular reference to ${whole}`, "Leave it out, or give its id.");
    }
    if (this.#ancestors.length >= maxJsonDepth) {
      throw this.#refuse(`is nested deeper than ${maxJsonDepth} levels`, "Give a flatter value.");
    }
    this.#ancestors.push(value);
    const copy = Array.isArray(value) ? this.#array(value) : this.#properties(value);
    this.#ancestors.pop();
    return copy;
  }

  #array(items: readonly unknown[]): JsonValue[] {
    const copies: JsonValue[] = [];
    const last = this.#path.push(0) - 1;
    for (let i = 0; i < items.length; i++) {
      this.#path[last] = i;
      const copy = this.#copy(items[i]);
      if (copy === undefined) throw this.#refuse("is undefined", "Give null in an array.");
      copies.push(copy);
    }
    this.#path.pop();
    return copies;
  }

  #properties(value: object): JsonObject {
    const copies: JsonObject = {};
    const keys = Object.keys(value); // May throw, and then the place is the object's own.
    const last = this.#path.push("") - 1;
    for (const key of keys) {
      this.#path[last] = key;
      const copy = this.#copy((value as Record<string, unknown>)[key]);
      if (copy === undefined) continue;
      this.#count(3);
      this.#text(key, "a key");
      // An assignment to this name would set the prototype.
      if (key !== "__proto__") copies[key] = copy;
      else Object.defineProperty(copies, key, { value: copy, ...ownProperty });
    }
    this.#path.pop();
    return copies;
  }

  #text(text: string, role: string): string {
    this.#count(text.length);
    if (text.includes("\0")) {
      throw this.#refuse(`is ${role} with a NUL character`, "jsonb can't hold one: remove it.");
    }
    if (text.isWellFormed()) return text;
    const hint = "jsonb can't hold it: cut text between characters, or mend it by toWellFormed().";
    throw this.#refuse(`is ${role} with half a surrogate pair`, hint);
  }

  #count(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes <= giveUpFactor * this.#maxBytes) return;
    this.#refusal = tooLarge(this.#what, `over ${this.bytes} bytes of JSON`, this.#maxBytes);
    throw this.#refusal;
  }

  #refuse(problem: string, hint = "", options?: ErrorOptions): LeaseholdError {
    const path = pathText(this.#what, this.#path);
    this.#refusal = leaseholdError("LH103", `${path} ${problem}`, hint, options);
    return this.#refusal;
  }
}

/** What an object is, as far as JSON is concerned. */
function kindOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return "Object";
  if (Array.isArray(value)) return "Array";
  if (ArrayBuffer.isView(value)) return "binary data";
  if (value instanceof Error) return "Error";
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** The kinds that JSON would empty or throw on, and what to give instead. */
const conversions: ReadonlyMap<string, string> = new Map([
  ["BigInt", "Give String(value), or Number(value) where it is small enough."],
  ["Symbol", "Give its description."],
  ["Map", "Give Object.fromEntries(map), or [...map]."],
  ["Set", "Give [...set]."],
  ["WeakMap", "Leave it out."],
  ["WeakSet", "Leave it out."],
  ["WeakRef", "Leave it out."],
  ["Promise", "Await it first."],
  ["RegExp", "Give its source."],
  ["Error", "Give its message, or the fields that matter."],
  ["Headers", "Give Object.fromEntries(headers)."],
  ["FormData", "Give Object.fromEntries(formData)."],
  ["URLSearchParams", "Give Object.fromEntries(params)."],
  ...["binary data", "ArrayBuffer", "SharedArrayBuffer", "Blob", "File"].map(
    (kind) => [kind, "Store it elsewhere and pass a reference, or give base64 text."] as const,
  ),
]);
