import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { chaosOptions } from "./chaos/options.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

test("a short storm breaks no promise", async () => {
  if (!existsSync(`${repository}/dist/index.js`)) {
    throw new Error("The run uses the built package: npm run test:faults builds it first.");
  }
  const { code, output } = await chaos(["--seed", "7", "--minutes", "0.35"]);
  expect(code, output).toBe(0);
  expect(output).toContain("Every promise was kept: seed 7");
  // Each check looked at something: an empty run keeps every promise.
  const counts = [...output.matchAll(/^ok {3}(.+) \((\d+)\)$/gm)];
  const busy = counts.filter(([, promise]) => !mayBeIdle.test(String(promise)));
  expect(busy.length, output).toBeGreaterThanOrEqual(25);
  for (const [line, , count] of busy) expect(Number(count), line).toBeGreaterThan(0);
}, 400_000);

test("wrong options are named, with what to give instead", async () => {
  const { code, output } = await chaos(["--minutes", "soon"]);
  expect(code).toBe(2);
  expect(output).toContain('--minutes is "soon": give minutes from 0.1 to 1440.');
  expect(() => chaosOptions(["--seed", "1.5"])).toThrow('--seed is "1.5": give a whole number.');
  expect(() => chaosOptions(["--speed"])).toThrow("Use: npm run chaos -- --seed 7 --minutes 5");
  expect(chaosOptions([])).toEqual({ seed: expect.any(Number), minutes: 2 });
});

/** What depends on the moment: in a short run none may have come. */
const mayBeIdle =
  /^(an enqueue whose answer was lost|no alert|no call fails|the books are in order)/;

function chaos(args: string[]): Promise<{ code: number | null; output: string }> {
  const program = ["--import", "jiti/register", "test/faults/chaos.ts", ...args];
  const child = spawn(process.execPath, program, { cwd: repository });
  let output = "";
  const hear = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
