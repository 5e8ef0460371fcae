import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { doorOf } from "../../src/cli/init/database-door.ts";
import { openFolder } from "../../src/cli/init/folder.ts";
import { packageManagerOf } from "../../src/cli/init/look/package-manager.ts";
import { look } from "../../src/cli/init/look.ts";
import { makeInitProject, manifest, nextProject } from "./init-project.ts";

const lookAt = (files: Record<string, string>) => makeInitProject(files).look();

describe("the package manager", () => {
  it.each([
    ["package-lock.json", "npm"],
    ["npm-shrinkwrap.json", "npm"],
    ["pnpm-lock.yaml", "pnpm"],
    ["yarn.lock", "yarn"],
    ["bun.lock", "bun"],
    ["bun.lockb", "bun"],
  ])("is known by its lock file: %s", (file, manager) => {
    expect(lookAt({ "package.json": manifest(), [file]: "" }).packageManager).toBe(manager);
  });

  it("is the one that package.json names, whatever lock file is left over", () => {
    const text = manifest({}, { packageManager: "pnpm@10.1.0" });
    expect(lookAt({ "package.json": text, "yarn.lock": "" }).packageManager).toBe("pnpm");
  });

  it("is that of the workspace above, and not of what lies above the repository", () => {
    const { root, put } = makeInitProject({ "yarn.lock": "", "apps/web/package.json": manifest() });
    expect(look(openFolder(join(root, "apps/web"))).packageManager).toBe("yarn");
    put("apps/package.json", manifest({}, { packageManager: "bun@1.2.0" }));
    expect(packageManagerOf(join(root, "apps/web"))).toBe("bun");
    mkdirSync(join(root, "apps/web/.git"));
    expect(packageManagerOf(join(root, "apps/web"))).toBe("npm");
  });

  it("is the one that runs init, where nothing tells", () => {
    const { root } = makeInitProject({ "package.json": manifest() });
    expect(packageManagerOf(root, "pnpm/10.1.0 npm/? node/v22")).toBe("pnpm");
    expect(packageManagerOf(root)).toBe("npm");
  });
});

describe("Next", () => {
  it.each([
    ["app/page.tsx", "app"],
    ["src/app/page.tsx", "src/app"],
  ])("has its app folder where %s is", (file, app) => {
    const { next } = lookAt({ "package.json": manifest({ next: "^16.4.3" }), [file]: "" });
    expect(next).toMatchObject({ app, version: "16.4", withoutApp: undefined });
  });

  it("takes app before src/app, as Next does", () => {
    const files = { "package.json": manifest({ next: "16" }), "app/a": "", "src/app/a": "" };
    expect(lookAt(files).next?.app).toBe("app");
  });

  it("has no app folder where there are pages alone, and says what to do", () => {
    const { next } = lookAt({ "package.json": manifest({ next: "16" }), "pages/index.js": "" });
    expect(next?.app).toBeUndefined();
    expect(next?.withoutApp).toContain("there is no app folder. Make one");
  });

  it("is of no use before 15.1, and says so", () => {
    const old = (range: string) =>
      lookAt({ "package.json": manifest({ next: range }), "app/page.js": "" }).next;
    expect(old("^14.2.0")?.withoutApp).toContain("needs Next 15.1");
    expect(old("15.0.3")?.app).toBeUndefined();
    expect(old("15.1.0")?.app).toBe("app");
    expect(old("canary")?.app).toBe("app");
  });

  it("is the version that is installed, not the lowest of the range", () => {
    const { next } = lookAt({
      "package.json": manifest({ next: ">=14" }),
      "node_modules/next/package.json": '{ "version": "16.4.6" }',
      "app/page.js": "",
    });
    expect(next).toMatchObject({ app: "app", version: "16.4" });
  });

  it("builds by webpack before 16 and where a script says so", () => {
    const webpack = (range: string, build: string) =>
      lookAt({ "package.json": manifest({ next: range }, { scripts: { build } }) }).next?.webpack;
    expect(webpack("15.3.0", "next build")).toBe(true);
    expect(webpack("15.3.0", "next build --turbopack")).toBe(false);
    expect(webpack("16.4.3", "next build")).toBe(false);
    expect(webpack("16.4.3", "next build --webpack")).toBe(true);
  });

  it.each(["ts", "mjs", "js"])("may have next.config.%s", (ending) => {
    const file = `next.config.${ending}`;
    expect(lookAt({ ...nextProject, [file]: "" }).next?.config).toBe(file);
  });
});

describe("the code", () => {
  it("lies where the project keeps such, else in lib beside the app", () => {
    const folderOf = (...files: string[]) =>
      lookAt({
        "package.json": manifest({ next: "16" }),
        ...Object.fromEntries(files.map((file) => [file, ""])),
      }).code.folder;
    expect(folderOf("app/page.js")).toBe("lib");
    expect(folderOf("src/app/page.js")).toBe("src/lib");
    expect(folderOf("app/page.js", "src/styles.css")).toBe("lib");
    expect(folderOf("app/page.js", "utils/supabase.js")).toBe("utils");
    expect(folderOf("app/page.js", "utils/a.js", "lib/b.js")).toBe("lib");
    expect(folderOf("src/app/page.js", "src/server/db.js")).toBe("src/server");
    expect(folderOf("app/page.js", "app/lib/data.js")).toBe("app/lib");
    expect(folderOf("src/index.js")).toBe("src/lib");
  });

  it("is TypeScript by tsconfig.json or the dependency, else JavaScript", () => {
    expect(lookAt(nextProject).code).toMatchObject({ typescript: true, ending: "ts" });
    const { code } = lookAt({ "package.json": manifest({ typescript: "5" }) });
    expect(code.typescript).toBe(true);
    const javascript = lookAt({ "package.json": manifest({ next: "16" }), "app/a.js": "" });
    expect(javascript.code).toMatchObject({ ending: "js", importEnding: "" });
  });

  it("of Node alone has endings in its imports, and is .mjs in a project of CommonJS", () => {
    const commonJs = lookAt({ "package.json": manifest() });
    expect(commonJs.code).toMatchObject({ ending: "mjs", importEnding: ".mjs" });
    const esm = lookAt({ "package.json": manifest({}, { type: "module" }) });
    expect(esm.code).toMatchObject({ ending: "js", importEnding: ".js" });
    const typescript = (options: object) =>
      lookAt({
        "package.json": manifest(),
        "tsconfig.json": JSON.stringify({ compilerOptions: options }),
      }).code.importEnding;
    expect(typescript({ module: "NodeNext" })).toBe(".js");
    expect(typescript({ module: "nodenext", allowImportingTsExtensions: true })).toBe(".ts");
    expect(typescript({ module: "esnext", moduleResolution: "bundler" })).toBe("");
  });

  it.each<[string, string, unknown]>([
    ["@/* for the root", '{"compilerOptions":{"paths":{"@/*":["./*"]}}}', [["@/", ""]]],
    ["@/* for src", '{"compilerOptions":{"paths":{"@/*":["./src/*"]}}}', [["@/", "src/"]]],
    ["~/*", '{"compilerOptions":{"paths":{"~/*":["./app/*"]}}}', [["~/", "app/"]]],
    ["a baseUrl", '{"compilerOptions":{"baseUrl":"src","paths":{"#/*":["*"]}}}', [["#/", "src/"]]],
    [
      "comments and trailing commas",
      '{ // a "comment", {\n"compilerOptions": { /* "paths": */ "paths": { "@/*": ["./*",], } } }',
      [["@/", ""]],
    ],
    ["one module alone", '{"compilerOptions":{"paths":{"db":["./lib/db.ts"]}}}', []],
    ["what is broken", '{"compilerOptions": nonsense', []],
    ["none", "{}", []],
  ])("has the import alias of tsconfig.json: %s", (_, text, aliases) => {
    const { code } = lookAt({ "package.json": manifest(), "tsconfig.json": text });
    expect(code.aliases.map(({ prefix, folder }) => [prefix, folder])).toEqual(aliases);
  });

  it("has the alias of a configuration that is extended, and of jsconfig.json", () => {
    const extended = lookAt({
      "package.json": manifest(),
      "tsconfig.json": '{ "extends": ["./config/base"] }',
      "config/base.json": '{ "compilerOptions": { "paths": { "@/*": ["../src/*"] } } }',
    });
    expect(extended.code.aliases).toEqual([{ prefix: "@/", folder: "src/" }]);
    const javascript = lookAt({
      "package.json": manifest(),
      "jsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }',
    });
    expect(javascript.code.aliases).toEqual([{ prefix: "@/", folder: "src/" }]);
    const circle = { "tsconfig.json": '{ "extends": "./tsconfig.json" }' };
    expect(lookAt({ "package.json": manifest(), ...circle }).code.aliases).toEqual([]);
  });
});

describe("the database", () => {
  it.each([
    [["pg", "postgres", "@supabase/supabase-js"], "pg"],
    [["postgres", "@supabase/supabase-js"], "postgres"],
    [["@supabase/supabase-js"], "supabase"],
    [[], "pg"],
  ])("with %j installed is reached by %s", (names, door) => {
    const text = manifest(Object.fromEntries(names.map((name) => [name, "1"])));
    expect(doorOf(lookAt({ "package.json": text }))).toBe(door);
  });
});

describe("a folder", () => {
  it("without package.json is refused with what to do", () => {
    expect(() => lookAt({ "readme.md": "" })).toThrow("There is no package.json in");
  });

  it("that is not there, or is a file, is refused", () => {
    const { root } = makeInitProject({ file: "" });
    expect(() => openFolder(join(root, "nowhere"))).toThrow(`no folder ${join(root, "nowhere")}`);
    expect(() => openFolder(join(root, "file"))).toThrow("There is no folder");
  });

  it("with a package.json that is no JSON, or no text, is refused", () => {
    expect(() => lookAt({ "package.json": "{ nonsense" })).toThrow("package.json is no JSON");
    expect(() => lookAt({ "package.json": "[1" })).toThrow("package.json is no JSON");
  });
});
