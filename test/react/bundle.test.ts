import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Generous: it was 9.1 KB, and 3.7 KB compressed, when this was written. */
const most = { bytes: 14_000, compressed: 6_000 };

interface Bundled {
  code: string;
  modules: string[];
  imports: string[];
}

/** What a browser gets of the door: everything it exports, React left out. */
async function bundle(): Promise<Bundled> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: true,
      // Not as a library: for those, vite leaves the white space in.
      rolldownOptions: {
        input: resolve("src/react/index.ts"),
        preserveEntrySignatures: "strict",
        external: /^[^./]/,
      },
    },
  });
  const [chunk, ...others] = [built]
    .flat()
    .flatMap((each) => ("output" in each ? each.output : []));
  if (chunk?.type !== "chunk" || others.length > 0) throw new Error("not one chunk");
  const modules = chunk.moduleIds.map((id) => relative(resolve("src"), id));
  return { code: chunk.code, modules, imports: chunk.imports };
}

describe("the bundle of leasehold/react", () => {
  let bundled: Bundled;

  beforeAll(async () => {
    bundled = await bundle();
  });

  it("holds no module of the server, but the door's own alone", () => {
    expect(bundled.modules.length).toBeGreaterThan(5);
    expect(bundled.modules.filter((module) => !/^react\/[\w-]+\.ts$/.test(module))).toEqual([]);
  });

  it("imports nothing but React: no other library and nothing of Node's", () => {
    expect(bundled.imports).toEqual(["react"]);
    expect(bundled.code).not.toMatch(/node:|process\.|\brequire\(/);
  });

  it("is small", () => {
    expect(Buffer.byteLength(bundled.code)).toBeLessThan(most.bytes);
    expect(gzipSync(bundled.code).byteLength).toBeLessThan(most.compressed);
  });
});

describe("the types of leasehold/react", () => {
  let folder: string;

  beforeAll(() => {
    mkdirSync("node_modules/.cache", { recursive: true });
    folder = mkdtempSync(resolve("node_modules/.cache/react-"));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("bring no type of the browser into the core", () => {
    const probe = `import "leasehold"; import "leasehold/react"; export const x = [document, window];`;
    writeFileSync(join(folder, "probe.ts"), probe);
    const paths = {
      leasehold: [resolve("src/index.ts")],
      "leasehold/*": [resolve("src/*/index.ts")],
    };
    const config = {
      extends: resolve("tsconfig.json"),
      compilerOptions: { paths, typeRoots: [resolve("node_modules/@types")] },
      include: [folder],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const found = compile(folder).match(/probe\.ts.*Cannot find name '\w+'/g) ?? [];
    expect(found.map((line) => line.split("'")[1])).toEqual(["document", "window"]);
  });
});

function compile(folder: string): string {
  try {
    return execFileSync("npx", ["tsc", "--noEmit", "-p", folder], { encoding: "utf8" });
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout);
  }
}
