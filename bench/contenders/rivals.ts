import { spawnSync } from "node:child_process";
import { bullmqPostgres } from "./bullmq-postgres.ts";
import { bullmqRedis, bullmqRedisInMemory } from "./bullmq-redis.ts";
import type { Contender } from "./contender.ts";
import { dbos } from "./dbos.ts";
import { graphileWorker, graphileWorkerBatched } from "./graphile-worker.ts";
import { pgBoss, pgBossNotify } from "./pg-boss.ts";
import { whyNot } from "./rivals/load.ts";

/** Those that need nothing but their packages. */
const onPostgres: readonly Contender[] = [
  graphileWorkerBatched,
  graphileWorker,
  pgBoss,
  pgBossNotify,
  bullmqPostgres,
  dbos,
];

const onRedis: readonly Contender[] = [bullmqRedis, bullmqRedisInMemory];

/** A rival that can't be measured here. */
export interface Absent {
  readonly name: string;
  readonly reason: string;
}

/** The rivals that can be measured here. None is loaded before it is used. */
export async function rivals(): Promise<Contender[]> {
  return [...onPostgres, ...onRedis].filter((each) => reasonAgainst(each) === undefined);
}

/** Those that can't, and why. */
export async function absentRivals(): Promise<Absent[]> {
  const lacking = [...onPostgres, ...onRedis].flatMap((each) => {
    const reason = reasonAgainst(each);
    return reason === undefined ? [] : [{ name: each.name, reason }];
  });
  const reason = "absurd-sdk brings no tables: absurdctl, which npm does not have, makes them";
  return [...lacking, { name: "Absurd", reason }];
}

function reasonAgainst(contender: Contender): string | undefined {
  const missing = contender.packages.map(whyNot).find((reason) => reason !== undefined);
  if (missing !== undefined || !onRedis.includes(contender) || hasRedis()) return missing;
  return "there is no redis-server on the PATH";
}

function hasRedis(): boolean {
  return (
    process.env.REDIS_URL !== undefined ||
    spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0
  );
}
