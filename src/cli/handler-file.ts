import { statSync } from "node:fs";
import { posix, win32 } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createJiti, type Jiti } from "jiti";
import { describeError } from "../describe-error.ts";
import { exitCodes } from "./exit-codes.ts";
import { CliError } from "./failure.ts";

/**
 * The URL of a module that was named by a relative or absolute path, or by a file:// URL. Modules
 * are imported by URL alone: in a path `#`, `?` and `%20` would be read as parts of one, and the
 * `C:` of a Windows path as its scheme.
 */
export function moduleUrl(
  file: string,
  cwd = process.cwd(),
  windows = process.platform === "win32",
): string {
  if (/^file:\/\//i.test(file)) return new URL(file).href;
  const path = windows ? win32 : posix;
  return pathToFileURL(path.resolve(cwd, file), { windows }).href;
}

/** The exports of the user's module. Throws an error of one line for everything that can be wrong. */
export async function importModule(file: string): Promise<unknown> {
  const url = moduleUrlOrError(file);
  const path = fileURLToPath(url);
  checkFile(file, path);
  try {
    return await load(url, path);
  } catch (cause) {
    const said = describeError(cause).message.replace(/^ParseError: /, "");
    const hint = `Correct the module; \`--debug\` shows where it fails.`;
    throw fileError(`${file} can't be loaded: ${said}`, hint, cause);
  }
}

function moduleUrlOrError(file: string): string {
  try {
    const url = moduleUrl(file);
    fileURLToPath(url);
    return url;
  } catch (cause) {
    throw fileError(`${file} is no file:// URL that names a file.`, "Give a path instead.", cause);
  }
}

function checkFile(file: string, path: string): void {
  const hint = "Give the module that exports what handle() answered.";
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw fileError(`There is no file ${path}.`, hint);
  if (!found.isFile()) throw fileError(`${path} is no file.`, hint);
  if (!/\.([cm]?[jt]s|tsx)$/.test(path)) {
    throw fileError(`${file} is neither TypeScript nor JavaScript by its name.`, hint);
  }
}

/** What Node reports of JavaScript that only a TypeScript loader understands. */
const needsLoader = new Set([
  "ERR_MODULE_NOT_FOUND",
  "ERR_UNSUPPORTED_DIR_IMPORT",
  "ERR_UNKNOWN_FILE_EXTENSION",
  "MODULE_NOT_FOUND",
]);

/**
 * JavaScript is Node's own business, so that it runs as it does elsewhere; what Node can't link
 * (imports of TypeScript, aliases of tsconfig's paths, import statements in CommonJS) goes to jiti.
 * Those errors come before the module runs; any other is its own, and it is not run a second time.
 */
async function load(url: string, path: string): Promise<unknown> {
  if (/\.[cm]?js$/.test(path)) {
    try {
      return await import(url);
    } catch (error) {
      const { code, name } = (error ?? {}) as { code?: string; name?: string };
      if (name !== "SyntaxError" && !needsLoader.has(code ?? "")) throw error;
    }
  }
  return loaderFor(path).import(path);
}

/** `leasehold` and all else is resolved from the module, never from this program. */
function loaderFor(path: string): Jiti {
  return createJiti(path, { tsconfigPaths: true, jsx: { runtime: "automatic" } });
}

function fileError(problem: string, hint: string, cause?: unknown): CliError {
  return new CliError(exitCodes.failed, problem, hint, { cause });
}
