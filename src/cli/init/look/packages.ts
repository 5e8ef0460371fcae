import { attempt } from "../../../describe-error.ts";
import { exitCodes } from "../../exit-codes.ts";
import { CliError } from "../../failure.ts";
import type { Folder } from "../folder.ts";

/** What package.json says. */
export interface Packages {
  /** Whether the package is a dependency of whatever sort. */
  has(name: string): boolean;
  /** Major and minor of what is installed, else of the lowest that the range allows. */
  version(name: string): readonly [major: number, minor: number] | undefined;
  /** Whether package.json says `"type": "module"`. */
  readonly esm: boolean;
  readonly scripts: readonly string[];
}

interface Manifest {
  readonly type?: unknown;
  readonly scripts?: Record<string, unknown>;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

/** Throws a CliError where there is no package.json, or none that can be read. */
export function readPackages(folder: Folder): Packages {
  const manifest = readManifest(folder);
  const ranges: Record<string, string> = {
    ...manifest.optionalDependencies,
    ...manifest.devDependencies,
    ...manifest.dependencies,
  };
  return {
    has: (name) => Object.hasOwn(ranges, name),
    version(name) {
      const installed = folder.read(`node_modules/${name}/package.json`)?.text ?? "{}";
      const { version = ranges[name] } = (attempt(() => JSON.parse(installed)) ?? {}) as {
        version?: string;
      };
      const [, major, minor = "0"] = /(\d+)(?:\.(\d+))?/.exec(version ?? "") ?? [];
      return major === undefined ? undefined : [Number(major), Number(minor)];
    },
    esm: manifest.type === "module",
    scripts: Object.values(manifest.scripts ?? {}).map(String),
  };
}

function readManifest(folder: Folder): Manifest {
  const text = folder.read("package.json")?.text;
  if (text === undefined) {
    throw new CliError(
      exitCodes.failed,
      `There is no package.json in ${folder.root}.`,
      "Run init in the folder of your project, or make one first: npx create-next-app@latest.",
    );
  }
  const manifest: unknown = attempt(() => JSON.parse(text));
  if (typeof manifest === "object" && manifest !== null) return manifest as Manifest;
  const hint = "Nothing was written. Correct it and run init again.";
  throw new CliError(exitCodes.failed, "package.json is no JSON.", hint);
}
