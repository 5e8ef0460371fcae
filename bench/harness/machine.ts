import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem, type } from "node:os";
import { join } from "node:path";
import { nowMs } from "../child/clock.ts";
import { median } from "./statistics.ts";

/** What a figure depends on and another machine has otherwise. */
export interface Machine {
  readonly system: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  /** Of 8 kB, the median of 100, beside the database's files. */
  readonly fdatasyncMs: number;
}

export function machine(folder: string): Machine {
  return {
    system: `${type()} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() || "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    fdatasyncMs: fdatasyncMs(folder),
  };
}

/** Over one, five and fifteen minutes. */
export function load(): number[] {
  return loadavg().map((each) => Math.round(each * 100) / 100);
}

/** `folder` decides whose disk it is. */
function fdatasyncMs(folder: string): number {
  const own = mkdtempSync(join(folder, "leasehold-fdatasync-"));
  const file = openSync(join(own, "file"), "w");
  const page = Buffer.alloc(8_192);
  try {
    const times = Array.from({ length: 100 }, (_, i) => {
      writeSync(file, page, 0, page.length, i * page.length);
      const from = nowMs();
      fdatasyncSync(file);
      return nowMs() - from;
    });
    return median(times);
  } finally {
    closeSync(file);
    rmSync(own, { recursive: true });
  }
}
