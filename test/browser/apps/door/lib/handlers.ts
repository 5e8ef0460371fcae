import { handle } from "leasehold";
import { broken, deaf, hooked, quick, slow } from "./jobs";

const version = "version 0";

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const handlers = [
  handle(quick, async () => {
    await later(200);
    return { version };
  }),
  handle(
    slow,
    (job) =>
      new Promise((_, reject) => {
        job.signal.addEventListener("abort", () => reject(job.signal.reason));
      }),
  ),
  handle(deaf, () => later(600_000)),
  handle(broken, async () => {
    await later(50);
    throw new Error("the model is away");
  }),
  handle(hooked, () => ({ version })),
];
