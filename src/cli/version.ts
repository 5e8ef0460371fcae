import { readFileSync } from "node:fs";

// As far from src/cli as from dist/cli.
const file = new URL("../../package.json", import.meta.url);

/** The version of this package. */
export const packageVersion = String(JSON.parse(readFileSync(file, "utf8")).version);
