import type { Leasehold } from "../../../src/client.ts";
import { tell } from "./reports.ts";

const known = new WeakSet<Leasehold>();

/** The client itself, whose drains, lost leases and troubles are told to the platform. */
export function watched(client: Leasehold): Leasehold {
  if (known.has(client)) return client;
  known.add(client);
  client.on("drained", ({ reason, processed, jobs }) => {
    const outcomes = jobs.map(({ id, generation, outcome, code }) => {
      return { id, generation, outcome, code: code ?? null };
    });
    void tell({ type: "drained", reason, processed, jobs: outcomes });
  });
  client.on("lost", ({ id, generation }) => void tell({ type: "lost", id, generation }));
  client.on("error", ({ during, error }) => {
    void tell({ type: "error", during, text: String(error) });
  });
  return client;
}
