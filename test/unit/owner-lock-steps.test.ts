import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type OwnerLock, takeOwnerLock } from "../../src/pglite/owner-lock.ts";
import { ownIdentity } from "../../src/pglite/process-identity.ts";

/**
 * Every interleaving of two takers at the grain of file operations, one inside the other: while one
 * is at its n-th operation, others come, take the lock and keep it, give it back, or die.
 */
const steps = vi.hoisted(() => ({ before: (): void => undefined }));

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const watched = ["linkSync", "readFileSync", "renameSync", "rmSync", "writeFileSync"] as const;
  const wrapped = watched.map((name) => {
    const operation = real[name] as (...args: unknown[]) => unknown;
    return [
      name,
      (...args: unknown[]) => {
        if (String(args[0]).includes(".lock")) steps.before();
        return operation(...args);
      },
    ];
  });
  return { ...real, ...Object.fromEntries(wrapped) };
});

const root = fs.mkdtempSync(join(tmpdir(), "leasehold-steps-"));
const folder = join(root, "data");
const head = `${folder}.lock`;
const dead = { ...ownIdentity(), started: "an earlier boot" };

afterAll(() => fs.rmSync(root, { recursive: true }));
beforeEach(() => {
  for (const name of fs.readdirSync(root)) fs.rmSync(join(root, name));
});

/** Runs `others` before the n-th operation of `work`; false when it has fewer. */
function atStep(n: number, others: () => void, work: () => void): boolean {
  let left = n;
  let reached = false;
  steps.before = () => {
    left -= 1;
    if (left !== 0) return;
    reached = true;
    steps.before = () => undefined;
    others();
  };
  work();
  steps.before = () => undefined;
  return reached;
}

function take(): OwnerLock | undefined {
  try {
    return takeOwnerLock(folder);
  } catch (error) {
    expect(error).toMatchObject({ code: "LH102" });
    return undefined;
  }
}

/** Takes the lock and dies: it stays as it is, but its owner runs no more. */
function takeAndDie(): void {
  const lock = take();
  if (!lock) return;
  const own = fs.readFileSync(head, "utf8");
  lock.release();
  fs.writeFileSync(head, JSON.stringify({ ...JSON.parse(own), ...dead }));
}

const token = crypto.randomUUID();
const starts: Record<string, () => void> = {
  "a free lock": () => undefined,
  "a dead owner": () => fs.writeFileSync(head, JSON.stringify({ ...dead, token })),
  "a dead owner with a dead successor": () => {
    fs.writeFileSync(head, JSON.stringify({ ...dead, token }));
    fs.writeFileSync(`${head}.${token}`, JSON.stringify({ ...dead, token: crypto.randomUUID() }));
  },
};

const others: Record<string, () => OwnerLock | undefined> = {
  "takes and keeps it": () => take(),
  "takes and releases it": () => void take()?.release(),
  "takes it and dies": () => void takeAndDie(),
  "takes it and dies, and so does the next": () => {
    takeAndDie();
    takeAndDie();
    return undefined;
  },
  "takes and releases it, and the next keeps it": () => {
    take()?.release();
    return take();
  },
};

describe.each(Object.keys(starts))("from %s, while one takes the lock", (start) => {
  it.each(Object.keys(others))("another %s, at any step: never two owners", (other) => {
    for (let n = 1, more = true; more; n++) {
      starts[start]?.();
      let inner: OwnerLock | undefined;
      let outer: OwnerLock | undefined;
      more = atStep(
        n,
        () => {
          inner = others[other]?.();
        },
        () => {
          outer = take();
        },
      );
      // One of them has it, the other not, and a new taker is refused.
      expect([inner, outer].filter((lock) => lock !== undefined)).toHaveLength(1);
      expect(take()).toBeUndefined();
      (inner ?? outer)?.release();
      // Nothing is in the way of the next, who tidies up.
      take()?.release();
      expect(fs.readdirSync(root)).toEqual([]);
    }
  });
});
