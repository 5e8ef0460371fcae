import { age } from "../../support/ageing.ts";
import type { Queryable } from "../../support/databases.ts";
import type { Race } from "./race.ts";

type On = Pick<Queryable, "query" | "value">;
type Json = Record<string, unknown>;

/** A claim: what the functions for its outcome ask for. */
export interface Claim {
  id: string;
  generation: number;
}

const mark = (values: unknown[]) => values.map((_, index) => `$${index + 1}`).join(", ");

/** One call of a function that answers one value. */
export const call = (on: On, name: string, ...values: unknown[]) =>
  on.value(`select leasehold.${name}(${mark(values)})`, values);

export const enqueue = (on: On, options: Json = {}, payload: unknown = {}) =>
  call(on, "enqueue", "mail", JSON.stringify(payload), options);

/** The jobs are of the kind mail where they name none. */
export const enqueueMany = (on: On, jobs: Json[]) =>
  call(on, "enqueue_many", JSON.stringify(jobs.map((job) => ({ kind: "mail", ...job }))));

export interface ClaimOptions {
  kinds?: string[];
  leaseMs?: number | null;
  except?: string[] | null;
}

export async function claim(
  on: On,
  limit = 1,
  { kinds = ["mail"], leaseMs = null, except = null }: ClaimOptions = {},
): Promise<(Claim & Json)[]> {
  const values = [kinds, limit, leaseMs, except];
  const text = "select * from leasehold.claim($1, $2, $3, p_except => $4)";
  return (await on.query(text, values)) as (Claim & Json)[];
}

export const claimJob = async (on: On, id: string) =>
  (await on.query("select * from leasehold.claim_job($1)", [id])) as (Claim & Json)[];

export const complete = (on: On, { id, generation }: Claim, result: unknown = "done") =>
  call(on, "complete", id, generation, JSON.stringify(result));

export const fail = (on: On, { id, generation }: Claim, permanent = false) =>
  call(on, "fail", id, generation, { code: "BROKEN", message: "It broke." }, permanent, 0);

export const release = (on: On, { id, generation }: Claim) =>
  call(on, "release", id, generation, 0);

export const extend = (on: On, { id, generation }: Claim) => call(on, "extend", id, generation);

export const guard = (on: On, { id, generation }: Claim) => call(on, "guard", id, generation);

export const finishMany = (on: On, claims: Claim[], outcome: Json = { action: "complete" }) =>
  call(
    on,
    "finish_many",
    JSON.stringify(claims.map(({ id, generation }) => ({ id, generation, ...outcome }))),
  );

/** A job that waits to be claimed. */
export async function queued(race: Race, options: Json = {}): Promise<string> {
  return (await enqueue(race, options)).id;
}

/** A job under a claim of 5 minutes. */
export async function running(race: Race, options: Json = {}): Promise<Claim> {
  const [claimed] = await claimJob(race, await queued(race, options));
  if (claimed === undefined) throw new Error("The new job could not be claimed");
  return { id: claimed.id, generation: claimed.generation };
}

/** A job whose claim anyone may reap. */
export async function expired(race: Race, options: Json = {}): Promise<Claim> {
  const claimed = await running(race, options);
  await age(race.db, claimed.id, 600_000);
  return claimed;
}

/** A job that failed for good. */
export async function failed(race: Race, options: Json = {}): Promise<string> {
  const claimed = await running(race, options);
  await fail(race, claimed, true);
  return claimed.id;
}

/** Locks a job's row as guard does, in the session's open transaction. */
export const lockRow = (on: On, id: string) =>
  on.query("select from leasehold.jobs where id = $1 for no key update", [id]);
