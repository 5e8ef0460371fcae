import { fork } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Database } from "../../src/database.ts";
import { pglite } from "../../src/pglite/index.ts";
import { migrate } from "../../src/schema/index.ts";

/** A folder with leasehold in it, to be copied: a first start takes seconds. */
const installed = mkdtempSync(join(tmpdir(), "leasehold-installed-"));
let root = "";
let folder = "";
const opened: Required<Database>[] = [];

beforeAll(async () => {
  const database = pglite(installed);
  await migrate(database);
  await database.close();
});
afterAll(() => rmSync(installed, { recursive: true }));
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "leasehold-folder-"));
  folder = join(root, "nested", "data");
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
  rmSync(root, { recursive: true });
});

function open(path = folder, make = pglite): Required<Database> {
  const database = make(path);
  opened.push(database);
  return database;
}

const enqueue = (to: Pick<Database, "call">): Promise<unknown> =>
  to.call("enqueue", { p_kind: "k", p_options: { key: "one" } });

const beside = (): string[] => readdirSync(join(root, "nested")).sort();

/** A process that opens the folder, enqueues one job and stays. */
async function startOwner(): Promise<{ pid: number; kill(): Promise<void> }> {
  const child = fork(new URL("pglite-owner.ts", import.meta.url), [folder], {
    execArgv: ["--import", import.meta.resolve("jiti/register")],
  });
  expect((await once(child, "message"))[0]).toBe("ready");
  return {
    pid: child.pid ?? 0,
    kill: async () => {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

describe("a PGlite in a folder", () => {
  it("is opened by the first call, keeps its data, and gives the folder free at close()", async () => {
    const first = open();
    expect(existsSync(folder)).toBe(false);
    await migrate(first);
    await enqueue(first);
    expect(beside()).toEqual(["data", "data.lock"]);
    await first.close();
    expect(beside()).toEqual(["data"]);
    await expect(enqueue(first)).rejects.toMatchObject({ code: "LH107" });

    expect(await enqueue(open())).toMatchObject({ outcome: "conflict" });
  });

  it("is one for all in this process, by whatever path and copy of the module (S34)", async () => {
    cpSync(installed, folder, { recursive: true });
    symlinkSync(folder, join(root, "link"));
    vi.resetModules();
    const copy = (await import("../../src/pglite/index.ts")).pglite;
    expect(copy).not.toBe(pglite);
    const all = [open(), open(join(root, "link")), open(`file://${folder}`), open(folder, copy)];
    const [first, ...others] = all as [Required<Database>, ...Required<Database>[]];
    await Promise.all(all.map(enqueue));
    await Promise.all(others.map((database) => database.close()));
    expect(await enqueue(first)).toMatchObject({ outcome: "conflict" });
    expect(beside()).toContain("data.lock");

    const closing = first.close();
    expect(await enqueue(open())).toMatchObject({ outcome: "conflict" }); // opened anew
    await closing;
  });

  it("belongs to one process, and to the next one when that is killed (S47)", async () => {
    cpSync(installed, folder, { recursive: true });
    const owner = await startOwner();
    const database = open();
    await expect(enqueue(database)).rejects.toMatchObject({ code: "LH102" });
    await expect(enqueue(database)).rejects.toThrow(
      new RegExp(`${folder} is owned by process ${owner.pid}\\. .*DATABASE_URL`),
    );
    await owner.kill();
    expect(await enqueue(database)).toMatchObject({ outcome: "conflict" });
  });

  it("starts anew where its first start was interrupted", async () => {
    mkdirSync(join(folder, "base"), { recursive: true });
    writeFileSync(join(folder, "PG_VERSION"), "18\n");
    writeFileSync(`${folder}.creating`, "");
    await migrate(open());
    expect(beside()).toEqual(["data", "data.lock"]);
  });

  it("is refused where the folder holds something else, which stays as it is", async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "letter.txt"), "dear");
    await expect(enqueue(open())).rejects.toMatchObject({ code: "LH107" });
    expect(readdirSync(folder)).toEqual(["letter.txt"]);
    expect(beside()).toEqual(["data"]);
  });
});

describe("a PGlite in memory", () => {
  it("is each one's own, under both its names", async () => {
    const [one, other] = [open(":memory:"), open("memory://")];
    await migrate(one);
    await enqueue(one);
    await expect(enqueue(other)).rejects.toMatchObject({ code: "LH007" });
  });
});
