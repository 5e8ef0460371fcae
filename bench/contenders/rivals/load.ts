import { createRequire } from "node:module";

/** Resolves from the folder where the rivals are installed. */
const require = createRequire(new URL("../../rivals/package.json", import.meta.url));

/**
 * A rival's package. `T` is what is used of it: no type of a rival is installed where this is checked.
 * Throws the loader's error where it is not installed. Packages that are modules need Node 22.12.
 */
export function load<T>(name: string): T {
  return require(name) as T;
}

/** Why a package can't be loaded, or undefined if it can. Loads nothing. */
export function whyNot(name: string): string | undefined {
  try {
    require.resolve(name);
    return undefined;
  } catch {
    return `${name} is not installed: npm install in bench/rivals`;
  }
}
