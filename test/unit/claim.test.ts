import { expect, it } from "vitest";
import { finishAndClaim } from "../../src/claim.ts";
import type { Database } from "../../src/database.ts";

const claims = { kinds: ["k"], worker: "w", limit: 1, after: null };
const outcome = { id: crypto.randomUUID(), generation: 1, action: "complete" } as const;
const answering = (rows: unknown[]): Database => ({ schema: "leasehold", call: async () => rows });

it("no answer about the outcomes is no word that they are recorded", async () => {
  await expect(finishAndClaim(answering([]), [outcome], claims)).rejects.toThrow(/first row/);
  const { statusOf } = await finishAndClaim(answering([{ finished: null }]), [outcome], claims);
  expect(statusOf(outcome)).toBe("completed");
});
