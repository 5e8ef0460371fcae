/**
 * Runs the tests in real Next and real Chromium: installs what they need beside them, packs leasehold
 * as it would be published, and hands both to vitest. Arguments go to vitest: files, reporters.
 *
 *   npm run test:next -- door
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const tests = join(root, "test/browser");
const folder = mkdtempSync(join(tmpdir(), "leasehold-next-"));

/** Answers the path of the tarball. */
function pack() {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const printed = execFileSync("npm", args, { cwd: root, encoding: "utf8" });
  return join(folder, JSON.parse(printed)[0].filename);
}

try {
  execFileSync("npm", ["ci", "--silent"], { cwd: tests, stdio: "inherit" });
  execFileSync("npx", ["tsc", "-p", tests], { cwd: root, stdio: "inherit" });
  const vitest = join(
    dirname(createRequire(import.meta.url).resolve("vitest/package.json")),
    "vitest.mjs",
  );
  const args = [
    vitest,
    "run",
    "--config",
    join(tests, "vitest.config.ts"),
    ...process.argv.slice(2),
  ];
  const env = { ...process.env, RIG_FOLDER: folder, LEASEHOLD_TARBALL: pack() };
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
