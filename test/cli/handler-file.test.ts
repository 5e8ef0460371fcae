import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { moduleUrl } from "../../src/cli/handler-file.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type Ended, leasehold, makeProject, type Project } from "./binary.ts";
import { mixed } from "./handlers.ts";

let db: TestDatabase;
let project: Project;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  project = makeProject();
});
afterAll(async () => {
  project.remove();
  await db.close();
});

function drain(file: string, ...args: string[]): Promise<Ended> {
  return leasehold(["drain", file, ...args], {
    cwd: project.folder,
    env: { DATABASE_URL: db.url },
  });
}

/** Whether the module's handlers were found: the drain then finds nothing to do. */
async function expectLoads(file: string): Promise<void> {
  const end = await drain(file, "--json");
  expect({ file, code: end.code, stderr: end.stderr }).toEqual({ file, code: 0, stderr: "" });
  expect(JSON.parse(end.stdout)).toMatchObject({ reason: "empty", processed: 0 });
}

const javascript = `
import { defineJob, handle } from "leasehold";
export default handle(defineJob("greet"), () => 1);
`;

describe("the file of a drain", () => {
  it("is a relative or absolute path or a URL, with whatever characters (S46)", async () => {
    project.write("dir with space & #1/what?/100%20.ts", mixed);
    await expectLoads("./dir with space & #1/what?/100%20.ts");
    await expectLoads(project.write("a%20b/#?.mjs", javascript));
    await expectLoads(pathToFileURL(project.write("ü/受信.ts", mixed)).href);
  });

  it("is TypeScript that uses the paths of tsconfig.json, JSX and other TypeScript", async () => {
    project.write(
      "app/tsconfig.json",
      '{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }',
    );
    project.write("app/lib/jobs.ts", mixed);
    project.write("app/enum.ts", "export enum Level { Low = 1 }");
    project.write("app/main.ts", `export * from "@/jobs"; export { Level } from "./enum.js";`);
    await expectLoads("app/main.ts");
    const jsx = `const h = (() => null) as any; export const view = () => <div />;`;
    project.write("app/view.tsx", `export * from "@/jobs"; ${jsx}`);
    project.write("app/node_modules/react/jsx-runtime.js", "exports.jsx = () => null;");
    await expectLoads("app/view.tsx");
  });

  it("is JavaScript: a module, CommonJS, and one that imports TypeScript", async () => {
    project.write(
      "js/list.cjs",
      'module.exports = [require("leasehold").handle(require("leasehold").defineJob("c"), () => 1)];',
    );
    await expectLoads("js/list.cjs");
    project.write("js/jobs.ts", mixed);
    project.write("js/mixed.mjs", 'export * from "./jobs";');
    await expectLoads("js/mixed.mjs");
    await expectLoads(project.write("plain/esm.js", javascript));
  });

  it("becomes a file:// URL on Windows as well, where C: would be read as its scheme (S46)", () => {
    expect(moduleUrl("C:\\x #1\\h.mjs", "D:\\", true)).toBe("file:///C:/x%20%231/h.mjs");
    expect(moduleUrl(".\\h.ts", "C:\\a%20b", true)).toBe("file:///C:/a%2520b/h.ts");
    expect(moduleUrl("file:///C:/x/h.mjs", "D:\\", true)).toBe("file:///C:/x/h.mjs");
    expect(moduleUrl("./what?.ts", "/a", false)).toBe("file:///a/what%3F.ts");
  });
});

/** A file, what stands in it (nothing: it is missing), and what is said of it. */
const broken: readonly (readonly [file: string, text: string | undefined, said: RegExp])[] = [
  ["missing.ts", undefined, /There is no file .*missing\.ts\.\nGive the module/],
  ["node_modules", undefined, /node_modules is no file\./],
  ["file://elsewhere/h.ts", undefined, /is no file:\/\/ URL that names a file/],
  ["notes.txt", "text", /notes\.txt is neither TypeScript nor JavaScript/],
  ["syntax.ts", "export const a = ;", /syntax\.ts can't be loaded: .*syntax\.ts:1:1\d/],
  ["syntax.mjs", "export const a = ;", /syntax\.mjs can't be loaded: .*Unexpected token/],
  ["throws.ts", 'throw new Error("at load");', /throws\.ts can't be loaded: at load\n/],
  [
    "import.ts",
    'import "no-such-package";',
    /can't be loaded: Cannot find (module|package) 'no-su/,
  ],
  [
    "option.ts",
    'import { defineJob } from "leasehold"; defineJob("a", { lease: 0 });',
    /lease is 0/,
  ],
  ["empty.ts", "export const a = 1;", /empty\.ts exports no handler\.\nExport what handle\(/],
  [
    "definitions.ts",
    'import { defineJob } from "leasehold"; export const a = defineJob("a");',
    /exports definitions alone \(a\), which hold no handler\.\nWrap each in handle/,
  ],
  [
    "twice.ts",
    'import { defineJob, handle } from "leasehold"; const h = () => handle(defineJob("a"), () => 1); export const a = h(); export const b = h();',
    /exports two handlers for the kind "a"\.\nExport one/,
  ],
  ["bad/tsconfig.json", '{ "extends": "@nowhere/tsconfig" }', /neither TypeScript/],
  ["bad/h.ts", mixed, /bad\/h\.ts can't be loaded: File '@nowhere\/tsconfig' not found/],
];

describe("a file that can't be drained", () => {
  it.each(broken)(
    "ends with 1, in two lines, and nothing is claimed (S46): %s",
    async (file, text, said) => {
      await db.reset();
      await db.database.call("enqueue", { p_kind: "greet", p_payload: { name: "x" } });
      if (text !== undefined) project.write(file, text);
      const { code, stdout, stderr } = await drain(file);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(said);
      expect(stderr.trimEnd().split("\n")).toHaveLength(2);
      expect(await db.value("select generation from leasehold.jobs")).toBe(0);
    },
  );

  it("shows where it fails on request", async () => {
    project.write("throws.ts", '\n\nthrow new Error("at load");');
    expect((await drain("throws.ts", "--debug")).stderr).toContain("throws.ts:3:");
  });
});
