import { expect, test } from "vitest";
import { parseStat, processCpuSeconds } from "../../bench/harness/cpu.ts";

test("a program's name may hold blanks and brackets", () => {
  const fields = parseStat("12 (a (b) c) S 34 5 6 7 8 9 10 11 12 13 140 150 160 170 20\n");
  expect(fields[1]).toBe(34);
  expect(fields.slice(11, 15)).toEqual([140, 150, 160, 170]);
});

test.runIf(process.platform === "linux")("this process has used as much as it says itself", () => {
  const own = process.cpuUsage();
  const seconds = processCpuSeconds(process.pid) ?? Number.NaN;
  expect(seconds).toBeGreaterThanOrEqual((own.user + own.system) / 1e6 - 0.05);
});

test("a process that is not there has used nothing that is known", () => {
  expect(processCpuSeconds(2 ** 30)).toBeUndefined();
});
