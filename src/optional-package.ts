import { leaseholdError } from "./errors.ts";

/**
 * What to throw when the dynamic import of an optional package failed: LH106 that says how to
 * install it when it is absent, and the error itself when it is there but broken.
 *
 * The import must stand in a `try` of its own where it is used, with the name as a literal:
 * bundlers then find the package for their trace, and only warn when it is missing.
 */
export function optionalPackageError(name: string, error: unknown): unknown {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const missing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  // The quotes tell the package itself from one of its own dependencies or files.
  return missing && String(message).includes(`'${name}'`) ? notInstalled(name, error) : error;
}

/**
 * The function or class `value` of the package `name`. Throws LH106 where it is none: bundlers may put
 * an empty module in the place of an optional peer that is absent (Next's webpack does).
 */
export function installed<Value>(name: string, value: Value): Value {
  if (typeof value !== "function") throw notInstalled(name);
  return value;
}

function notInstalled(name: string, cause?: unknown): Error {
  return leaseholdError(
    "LH106",
    `The optional package ${name} is not installed`,
    `Run \`npm install ${name}\`.`,
    { cause },
  );
}
