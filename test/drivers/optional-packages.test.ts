import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

/** The built package in a place without node_modules, so that no optional package is found. */
const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "leasehold-built-"));

beforeAll(() => {
  const tsc = join(root, "node_modules/.bin/tsc");
  const build = ["-p", join(root, "tsconfig.build.json"), "--outDir", join(folder, "dist")];
  spawnSync(tsc, build, { cwd: root });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  expect(existsSync(join(folder, "dist/default-database.js"))).toBe(true);
});
afterAll(() => rmSync(folder, { recursive: true }));

const defaultDatabase = `
  import { openDefaultDatabase } from "./dist/default-database.js";
  const database = openDefaultDatabase();
`;

const postgresJs = `
  import { postgres } from "./dist/postgres/index.js";
  const database = postgres("postgres://127.0.0.1:1/none");
`;

function callError(
  env: Record<string, string>,
  database = defaultDatabase,
): Record<string, unknown> {
  const script = `
    ${database}
    const error = await database.call("stats", {}).catch((error) => error);
    console.log(JSON.stringify({ ...error, name: error.name, message: error.message }));
  `;
  const options = ["--input-type=module", "--eval", script];
  const plain = { PATH: process.env.PATH ?? "" };
  const run = spawnSync(process.execPath, options, {
    cwd: folder,
    env: { ...plain, ...env },
    encoding: "utf8",
  });
  return JSON.parse(run.stdout || JSON.stringify({ stderr: run.stderr }));
}

it("asks for pg at the first call that needs it", () => {
  expect(callError({ DATABASE_URL: "postgres://127.0.0.1:1/none" })).toMatchObject({
    name: "DatabaseError",
    code: "LH106",
    message: "The optional package pg is not installed. Run `npm install pg`.",
  });
});

it("asks for postgres.js at the first call that needs it", () => {
  expect(callError({}, postgresJs)).toMatchObject({
    code: "LH106",
    message: "The optional package postgres is not installed. Run `npm install postgres`.",
  });
});

it("asks for PGlite at the first call that needs it", () => {
  expect(callError({})).toMatchObject({ code: "LH106", hint: expect.stringContaining("pglite`") });
});

it("needs neither to say that nothing is configured", () => {
  expect(callError({ VERCEL: "1" })).toMatchObject({ code: "LH101" });
});
