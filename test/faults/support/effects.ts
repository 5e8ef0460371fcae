import { defineJob, type Job } from "../../../src/index.ts";

/** One row for each time that a job took effect: nothing keeps a second one out but the fence. */
export const effectsTable = "create table public.effects (job_id uuid, generation int)";

/** Writes its effect together with its completion. What the network did to it is tried again soon. */
export const write = defineJob("write", { backoff: [100], lease: "3s", maxAttempts: 50 });

/** A client of node-postgres, or of postgres.js. */
export type EffectClient =
  | { query(text: string, values: unknown[]): Promise<unknown> }
  | { unsafe(text: string, values: unknown[]): Promise<unknown> };

export function writeEffect(client: EffectClient, job: Pick<Job, "id" | "generation">) {
  const text = "insert into public.effects (job_id, generation) values ($1, $2)";
  const values = [job.id, job.generation];
  return "query" in client ? client.query(text, values) : client.unsafe(text, values);
}
