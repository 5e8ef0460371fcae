export interface KnexStyle {
  readonly typescript: boolean;
  /** Whether the module is an ES module once it runs. */
  readonly esm: boolean;
}

/** A migration that runs the SQL beside it. Knex takes a question mark for a binding, hence the escapes. */
export function knexMigration(sqlFile: string, { typescript, esm }: KnexStyle): string {
  if (!typescript && !esm) return commonJs(sqlFile);
  const knex = typescript ? "knex: Knex" : "knex";
  const promise = typescript ? ": Promise<void>" : "";
  const imports = [
    'import { readFile } from "node:fs/promises";',
    ...(esm ? [] : ['import { join } from "node:path";']),
    ...(typescript ? ['import type { Knex } from "knex";'] : []),
  ];
  const place = esm ? `new URL("${sqlFile}", import.meta.url)` : `join(__dirname, "${sqlFile}")`;
  return `${imports.join("\n")}

/** Installs leasehold, or brings it up to date. */
export async function up(${knex})${promise} {
  const sql = await readFile(${place}, "utf8");
  await knex.raw(sql.replaceAll("?", "\\\\?"));
}

/** Keeps leasehold: its jobs are not to be lost by a step back. */
export async function down()${promise} {}
`;
}

function commonJs(sqlFile: string): string {
  return `const { readFile } = require("node:fs/promises");
const { join } = require("node:path");

/** Installs leasehold, or brings it up to date. */
exports.up = async (knex) => {
  const sql = await readFile(join(__dirname, "${sqlFile}"), "utf8");
  await knex.raw(sql.replaceAll("?", "\\\\?"));
};

/** Keeps leasehold: its jobs are not to be lost by a step back. */
exports.down = async () => {};
`;
}
