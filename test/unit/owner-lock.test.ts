import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DatabaseError } from "../../src/errors.ts";
import { takeOwnerLock } from "../../src/pglite/owner-lock.ts";
import { ownIdentity } from "../../src/pglite/process-identity.ts";
import type { Answer, Request } from "./owner-lock-child.ts";

const childFile = new URL("owner-lock-child.ts", import.meta.url);
const root = mkdtempSync(join(tmpdir(), "leasehold-lock-"));
let folders = 0;
let folder = "";

beforeEach(() => {
  folder = join(root, `data${++folders}`);
});
afterAll(() => rmSync(root, { recursive: true }));

async function startChild(): Promise<ChildProcess> {
  const child = fork(childFile, { execArgv: ["--import", import.meta.resolve("jiti/register")] });
  await once(child, "message");
  return child;
}

async function ask(child: ChildProcess, request: Request): Promise<Answer> {
  const answer = once(child, "message");
  child.send(request);
  return (await answer)[0];
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}

function writeLock(owner: object, path = `${folder}.lock`): void {
  writeFileSync(path, JSON.stringify({ ...ownIdentity(), token: crypto.randomUUID(), ...owner }));
}

/** A pid that named a process until a moment ago. */
function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

function expectTakenOver(): void {
  const lock = takeOwnerLock(folder);
  expect(JSON.parse(readFileSync(`${folder}.lock`, "utf8"))).toMatchObject(ownIdentity());
  lock.release();
  expect(readdirSync(root)).toEqual([]);
}

describe("the owner lock", () => {
  it("names pid, start and host while it is held, and is gone after release", () => {
    expectTakenOver();
  });

  it("refuses a second owner and names the first, the folder and the ways out", () => {
    const lock = takeOwnerLock(folder);
    expect(() => takeOwnerLock(folder)).toThrow(DatabaseError);
    expect(() => takeOwnerLock(folder)).toThrow(
      new RegExp(`${folder} is owned by process ${process.pid} .*DATABASE_URL.*send the call to`),
    );
    lock.release();
    expect(readdirSync(root)).toEqual([]);
  });

  it("takes over from an owner that is dead", () => {
    writeLock({ pid: deadPid() });
    expectTakenOver();
  });

  it("takes over when the pid has since been given to another process", () => {
    writeLock({ started: "another-boot/1" });
    expectTakenOver();
  });

  it("goes by the pid alone where the start is not known", () => {
    writeLock({ started: null });
    expect(() => takeOwnerLock(folder)).toThrow(/is owned by process/);
    rmSync(`${folder}.lock`);
  });

  it("never takes over from another host, and names the file to delete", () => {
    writeLock({ pid: deadPid(), hostname: `not-${hostname()}` });
    expect(() => takeOwnerLock(folder)).toThrow(
      new RegExp(`on not-${hostname()}.*If that process has ended, delete ${folder}\\.lock`),
    );
    rmSync(`${folder}.lock`);
  });

  it("never takes over a lock that it can't read", () => {
    writeFileSync(`${folder}.lock`, "");
    expect(() => takeOwnerLock(folder)).toThrow(/lock file .*\.lock can't be read.*delete it/);
    rmSync(`${folder}.lock`);
  });

  it("leaves a lock alone that has become another's by the time of the release", () => {
    const lock = takeOwnerLock(folder);
    writeLock({});
    lock.release();
    expect(readdirSync(root)).toHaveLength(1);
    rmSync(`${folder}.lock`);
  });
});

describe("the owner lock among processes", () => {
  const children: ChildProcess[] = [];
  const dead = { ...ownIdentity(), pid: deadPid() };

  beforeAll(async () => {
    children.push(...(await Promise.all(Array.from({ length: 6 }, startChild))));
  });
  afterAll(() => Promise.all(children.map((child) => end(child, "SIGKILL"))));

  const askAll = (request: Request): Promise<Answer[]> =>
    Promise.all(children.map((child) => ask(child, request)));

  it("is left by SIGKILL, and the next process takes over", async () => {
    const victim = await startChild();
    expect(await ask(victim, { do: "take", folder, at: 0 })).toEqual({ won: true });
    expect(() => takeOwnerLock(folder)).toThrow(`owned by process ${victim.pid}`);
    await end(victim, "SIGKILL");
    expect(readdirSync(root)).toHaveLength(1);
    expectTakenOver();
  });

  it("is given back when the process ends without a word", async () => {
    const owner = await startChild();
    await ask(owner, { do: "take", folder, at: 0 });
    const exit = once(owner, "exit");
    owner.disconnect(); // with the channel ends the last thing that kept it alive
    await exit;
    expect(readdirSync(root)).toEqual([]);
  });

  it("goes to exactly one of many that find it dead at the same moment, 50 times", async () => {
    for (let round = 0; round < 50; round++) {
      const path = `${folder}-${round}`;
      const token = crypto.randomUUID();
      writeLock({ ...dead, token }, `${path}.lock`);
      if (round % 2) writeLock(dead, `${path}.lock.${token}`); // whose successor died as well
      const answers = await askAll({ do: "take", folder: path, at: Date.now() + 5 });
      const winners = children.filter((_, i) => answers[i]?.won);
      expect(winners).toHaveLength(1);
      for (const { message } of answers.filter(({ won }) => !won)) {
        expect(message).toContain(`${path} is owned by process ${winners[0]?.pid}`);
      }
      await askAll({ do: "release" });
      expect(readdirSync(root)).toEqual([]);
    }
  });

  it("never has two holders while all contend, release and die", async () => {
    const at = Date.now() + 5;
    const answers = await askAll({ do: "contend", folder, at, wins: 100, dead });
    expect(answers.map(({ violations }) => violations)).toEqual(children.map(() => 0));
    rmSync(`${folder}.lock`, { force: true });
    expect(readdirSync(root)).toEqual([]);
  });
});
