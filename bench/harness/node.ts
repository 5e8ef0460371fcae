import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** How a child's TypeScript is run. */
export interface NodeCommand {
  readonly program: string;
  readonly arguments: readonly string[];
}

/** The Node that is installed with the rivals, of which some need it. */
const rivalsNode = fileURLToPath(new URL("../rivals/node_modules/node/bin/node", import.meta.url));

/** Node 24 runs TypeScript by itself; it runs every child beside rivals, leasehold's too. */
export function nodeFor(withRivals: boolean): NodeCommand {
  if (!withRivals) return thisNode();
  if (existsSync(rivalsNode)) return { program: rivalsNode, arguments: [] };
  throw new Error("The rivals are not installed: run npm install in bench/rivals.");
}

function thisNode(): NodeCommand {
  return {
    program: process.execPath,
    arguments: ["--import", import.meta.resolve("jiti/register")],
  };
}

export function nodeVersion({ program }: NodeCommand): string {
  return execFileSync(program, ["--version"], { encoding: "utf8" }).trim();
}
