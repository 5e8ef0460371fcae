import type { Contender } from "./contender.ts";
import type { Absent } from "./rivals.ts";

export type { Absent };

/** Those that `npm run bench` measures. */
export const own = ["leasehold", "bare SQL"] as const;

/**
 * Loaded by name, each by itself: no contender's process is to hold the code of another. The two that
 * are not in `own` are variants of leasehold that single benchmarks ask for.
 */
const ownModules: Record<string, () => Promise<Contender>> = {
  leasehold: async () => (await import("./leasehold.ts")).leasehold,
  "leasehold, one account": async () => (await import("./leasehold.ts")).leaseholdOneAccount,
  "leasehold, many accounts": async () => (await import("./leasehold.ts")).leaseholdManyAccounts,
  "bare SQL": async () => (await import("./bare-sql.ts")).bareSql,
};

/** Throws where there is none of that name. */
export async function loadContender(name: string): Promise<Contender> {
  const found =
    (await ownModules[name]?.()) ?? (await listRivals()).find((rival) => rival.name === name);
  if (found === undefined) throw new Error(`There is no contender named ${name}.`);
  return found;
}

/** leasehold and bare SQL, and with `withRivals` whoever is installed. */
export async function listContenders(withRivals: boolean): Promise<Contender[]> {
  const rivals = withRivals ? await listRivals() : [];
  return [...(await Promise.all(own.map(loadContender))), ...rivals];
}

/** The rivals that can't be measured here, and why. */
export async function listAbsent(): Promise<Absent[]> {
  return (await import("./rivals.ts")).absentRivals();
}

async function listRivals(): Promise<Contender[]> {
  return (await import("./rivals.ts")).rivals();
}
