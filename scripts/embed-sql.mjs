/**
 * Puts the SQL of `sql/` into a TypeScript module, so that bundlers and edge runtimes, which have
 * no files beside the code, can install the schema too.
 *
 *   node scripts/embed-sql.mjs [sql folder] [module to write]
 *
 * The module is written only when its content changed, so that watchers stay quiet.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** The place in grants.sql where the renderer puts the roles that were asked for. */
const ROLES = "array[]::text[] /* roles */";

/**
 * Reads the folder, checks what the renderer relies on, and writes the module.
 * @returns {{ checksum: string, changed: boolean }}
 */
export function embedSql(
  folder = join(root, "sql"),
  target = join(root, "src/schema/sql.generated.ts"),
) {
  const parts = readParts(folder);
  const checksum = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  const text = moduleText({ ...parts, checksum });
  const changed = !existsSync(target) || readFileSync(target, "utf8") !== text;
  if (changed) {
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  return { checksum, changed };
}

function readParts(folder) {
  const read = (path) => readFileSync(join(folder, path), "utf8").replaceAll("\r\n", "\n");
  const grants = read("grants.sql");
  if (grants.split(ROLES).length !== 2) {
    throw new Error(`grants.sql must contain ${ROLES} exactly once`);
  }
  return {
    tables: read("tables.sql"),
    indexes: read("indexes.sql"),
    internal: list(folder, "internal")
      .map((file) => read(`internal/${file}`))
      .join("\n"),
    functions: Object.fromEntries(
      list(folder, "functions").map((file) => [file.slice(0, -4), readFunction(file, read)]),
    ),
    grants,
    myJob: read("optional/my_job.sql"),
    wakeups: read("optional/wakeups.sql"),
    migrations: list(folder, "migrations").map((file, i) => readMigration(file, i, read)),
  };
}

/** In the order of code units, which no locale can change: the checksum depends on it. */
function list(folder, name) {
  const path = join(folder, name);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((file) => file.endsWith(".sql"))
    .sort();
}

/** One public function a file, named as the file: what is not found by name would be dropped. */
function readFunction(file, read) {
  const text = read(`functions/${file}`);
  const names = [...text.matchAll(/create or replace function leasehold\.(\w+)/g)];
  if (names.length !== 1 || names[0]?.[1] !== file.slice(0, -4)) {
    throw new Error(`functions/${file} must define exactly one function, of the file's name`);
  }
  return text;
}

/** Version 1 is the first installation, so migrations begin at 0002 and leave no gap. */
function readMigration(file, index, read) {
  const match = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file);
  const version = index + 2;
  if (match === null || Number(match[1]) !== version) {
    const expected = String(version).padStart(4, "0");
    throw new Error(`migrations/${file} must be named ${expected}-name.sql`);
  }
  return { version, name: match[2], sql: read(`migrations/${file}`) };
}

function moduleText({ functions, migrations, checksum, ...texts }) {
  const constant = (name, type, value) =>
    `export const ${name}: ${type} = ${JSON.stringify(value, null, 2)};\n`;
  return [
    "// Written by scripts/embed-sql.mjs from sql/. Do not edit.\n",
    ...Object.entries(texts).map(([name, text]) => constant(name, "string", text)),
    constant("functions", "Readonly<Record<string, string>>", functions),
    constant(
      "migrations",
      "readonly { readonly version: number; readonly name: string; readonly sql: string }[]",
      migrations,
    ),
    constant("checksum", "string", checksum),
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, target] = process.argv.slice(2);
  embedSql(folder, target);
}
