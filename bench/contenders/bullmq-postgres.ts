import { type BullMq, consume, count, produce, prune } from "./bullmq.ts";
import type { Contender } from "./contender.ts";
import { load } from "./rivals/load.ts";
import { withClient } from "./rivals/pg.ts";

const workers = {
  throughput: { concurrency: 32, connections: 32 },
  latency: { concurrency: 10, connections: 10 },
};

export const bullmqPostgres: Contender = {
  name: "BullMQ on PostgreSQL",
  packages: ["bullmq", "pg"],
  settings:
    "addBulk for many, add for one; concurrency and pool 32, 10 for latency; a queue for all kinds",
  prepare: (url) => withClient(url, (client) => load<BullMq>("bullmq").runMigrations(client)),
  producer: async (url, { connections }) => produce(place(url, connections)),
  consumer(url, { best, run }) {
    const { connections, ...options } = workers[best];
    return consume(place(url, connections), options, run);
  },
  unfinished: (url) => count(place(url, 1)),
  prune: (url, olderThanMs) => prune(place(url, 1), olderThanMs),
};

function place(url: string, connections: number) {
  return {
    connection: { connectionString: url, max: connections },
    backend: load<BullMq>("bullmq").createPostgresBackend,
  };
}
