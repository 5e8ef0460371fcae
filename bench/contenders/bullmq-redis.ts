import { consume, count, produce } from "./bullmq.ts";
import type { Contender } from "./contender.ts";
import { load } from "./rivals/load.ts";

/** What is used of ioredis. */
interface IoRedis {
  readonly Redis: new (url: string, options: object) => Redis;
}

interface Redis {
  flushall(): Promise<unknown>;
  config(verb: "SET", ...settings: string[]): Promise<unknown>;
  info(section: string): Promise<string>;
  quit(): Promise<unknown>;
}

/** Settings of Redis. */
const durable = ["save", "", "appendonly", "yes", "appendfsync", "always"];
const inMemory = ["save", "", "appendonly", "no"];

const workers = {
  throughput: { concurrency: 100 },
  latency: { concurrency: 10 },
};

/** For benchmarks that look at what PostgreSQL does. */
const elsewhere = "it keeps nothing in PostgreSQL";

export const bullmqRedis = contender(
  "BullMQ on Redis",
  durable,
  "Redis: appendonly yes, appendfsync always",
);

export const bullmqRedisInMemory = contender(
  "BullMQ on Redis, in memory",
  inMemory,
  "Redis: appendonly no, save none, so that a crash of Redis loses all jobs",
);

function contender(name: string, server: readonly string[], durability: string): Contender {
  return {
    name,
    packages: ["bullmq", "ioredis"],
    settings: `addBulk for many, add for one; concurrency 100, 10 for latency; ${durability}`,
    cannot: { xmin: elsewhere, sustained: elsewhere, idle: elsewhere },
    prepare: () =>
      withRedis(async (redis) => {
        await redis.flushall();
        await redis.config("SET", ...server);
        await rewritten(redis);
      }),
    producer: async () => produce({ connection: connection() }),
    consumer: (_url, { best, run }) => consume({ connection: connection() }, workers[best], run),
    unfinished: () => count({ connection: connection() }),
  };
}

/** Options of ioredis. */
function connection(): object {
  const { hostname, port } = new URL(address());
  return { host: hostname, port: Number(port) };
}

function address(): string {
  const url = process.env.REDIS_URL;
  if (url === undefined) throw new Error("REDIS_URL is not set: it names the Redis to measure.");
  return url;
}

async function withRedis(use: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = new (load<IoRedis>("ioredis").Redis)(address(), {});
  await use(redis);
  await redis.quit();
}

/** Where the append-only file was off before, Redis writes one first. */
async function rewritten(redis: Redis): Promise<void> {
  while (/aof_rewrite_(in_progress|scheduled):1/.test(await redis.info("persistence"))) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
