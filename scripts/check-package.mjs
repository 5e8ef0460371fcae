/**
 * Checks what would be published: packs it, lints the tarball (publint, attw), installs it into an
 * empty project and imports every export and runs the command there, as a user would.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "leasehold-package-"));
const run = (command, args, cwd = process.cwd(), env = process.env) =>
  execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

/** Packs the package and answers the tarball's path. */
function pack() {
  const [packed] = JSON.parse(
    run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]),
  );
  const stray = packed.files
    .map((file) => file.path)
    .filter((path) => !/^(dist|sql)\/|^[\w.]+$/.test(path));
  if (stray.length > 0)
    throw new Error(`Files that do not belong into the package: ${stray.join(", ")}`);
  return join(folder, packed.filename);
}

/** Installs the tarball into an empty project and uses it. */
function tryAsUser(tarball) {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  // With what a door is of no use without, and so loads at once.
  const loaded = ["react", "@opentelemetry/api"];
  run("npm", ["install", "--no-audit", "--no-fund", "--silent", tarball, ...loaded], folder);
  const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
  const names = Object.keys(exports)
    .filter((name) => name !== "./package.json")
    .map((name) => `leasehold${name.slice(1)}`);
  const script = names.map(
    (name) =>
      `if (Object.keys(await import("${name}")).length === 0) throw new Error("${name} exports nothing");`,
  );
  run("node", ["--input-type=module", "--eval", script.join("\n")], folder);
  run("npx", ["--no-install", "leasehold", "--help"], folder);
  const sql = run("npx", ["--no-install", "leasehold", "migrate", "--print"], folder);
  if (!sql.includes("create or replace function"))
    throw new Error("migrate --print printed no SQL");
  console.log(`imported ${names.join(", ")}; the command runs`);
  startAsInReadme();
}

/** Runs the example that the README opens with, as it says: saved as start.mjs. */
function startAsInReadme() {
  run(
    "npm",
    ["install", "--no-audit", "--no-fund", "--silent", "@electric-sql/pglite", "zod"],
    folder,
  );
  const example = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync("README.md", "utf8"))?.[1] ?? "";
  writeFileSync(join(folder, "start.mjs"), example);
  const { DATABASE_URL, POSTGRES_URL, ...env } = process.env;
  const printed = run("node", ["start.mjs"], folder, env);
  if (!/completed: 1/.test(printed)) throw new Error(`The README's example printed: ${printed}`);
  console.log("the README's example runs");
}

try {
  const tarball = pack();
  process.stdout.write(run("npx", ["publint", "--strict", tarball]));
  process.stdout.write(run("npx", ["attw", tarball, "--profile", "esm-only", "--format", "ascii"]));
  tryAsUser(tarball);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
