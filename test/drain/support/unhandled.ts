import { afterAll, beforeAll } from "vitest";

/** The rejections that nobody handled while the tests of this block ran; filled as they come. */
export function unhandledRejections(): readonly unknown[] {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  beforeAll(() => void process.on("unhandledRejection", note));
  afterAll(() => void process.off("unhandledRejection", note));
  return unhandled;
}
