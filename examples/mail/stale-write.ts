import type { Database, FinishedJob } from "leasehold";
import { recordAttachments } from "./mailbox.ts";
import type { WorkerReport } from "./protocol.ts";

/**
 * Does what a worker does that has not noticed that its lease is lost: writes all the same. Only the
 * demo needs this, to show that it is the database which refuses; a real worker just stops.
 */
export async function writeAnyway(
  database: Database,
  { id, key, generation }: FinishedJob,
  mailSchema: string | undefined,
): Promise<WorkerReport[]> {
  const claim = { p_id: id, p_generation: generation };
  const about = { type: "stale", messageId: key ?? "", generation } as const;
  const completed = await database.call("complete", claim);
  const answers: WorkerReport[] = [{ ...about, write: "complete", refused: completed === false }];
  if (mailSchema !== undefined) {
    const refused = await writeUnderGuard(database, claim, mailSchema, about.messageId);
    answers.push({ ...about, write: "row under guard", refused });
  }
  return answers;
}

/** Whether guard refused: a claim that is not valid raises LH001 and takes the rows with it. */
async function writeUnderGuard(
  database: Database,
  claim: { p_id: string; p_generation: number },
  mailSchema: string,
  messageId: string,
): Promise<boolean> {
  const row = { path: `${messageId}/stale`, bytes: 0, sha256: "" };
  try {
    await database.transaction?.(async ({ client, call }) => {
      await recordAttachments(client as never, mailSchema, messageId, [row]);
      await call("guard", claim);
    });
    return false;
  } catch (error) {
    if ((error as { code?: unknown }).code === "LH001") return true;
    throw error;
  }
}
