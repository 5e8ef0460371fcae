import type { Packages } from "../look/packages.ts";

/** How the sample job's payload is checked: by a library that is installed, or not at all. */
export interface PayloadSchema {
  readonly import: string;
  /** Of `{ name: string }`. */
  readonly expression: string;
}

/** The first version of each library that follows standardschema.dev. */
const libraries: readonly (readonly [
  name: string,
  since: readonly [number, number],
  PayloadSchema,
])[] = [
  [
    "zod",
    [3, 24],
    { import: 'import { z } from "zod";', expression: "z.object({ name: z.string() })" },
  ],
  [
    "valibot",
    [1, 0],
    { import: 'import * as v from "valibot";', expression: "v.object({ name: v.string() })" },
  ],
  [
    "arktype",
    [2, 0],
    { import: 'import { type } from "arktype";', expression: 'type({ name: "string" })' },
  ],
];

/** Undefined where no such library is installed. */
export function payloadSchema(packages: Packages): PayloadSchema | undefined {
  return libraries.find(([name, [major, minor]]) => {
    const [ownMajor = major, ownMinor = minor] = packages.version(name) ?? [];
    const recent = ownMajor > major || (ownMajor === major && ownMinor >= minor);
    return packages.has(name) && recent;
  })?.[2];
}
