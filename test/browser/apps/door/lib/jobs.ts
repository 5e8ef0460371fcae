import { defineJob } from "leasehold";

/** Answers the version of its handler's code. */
export const quick = defineJob("quick");

/** Runs for longer than any test, unless its signal stops it. */
export const slow = defineJob("slow", { lease: "10s", cost: 2, account: () => "payer" });

/** As slow, and deaf to its signal. */
export const deaf = defineJob("deaf", { lease: "10s" });

export const broken = defineJob("broken");

/** For a drain or a worker. */
export const hooked = defineJob("hooked", { startIn: "worker" });

export const jobs = [quick, slow, deaf, broken, hooked] as const;
