import { Client } from "pg";
import type { Plan } from "../child/plan.ts";
import type { Bench } from "./bench.ts";
import { Child } from "./child-process.ts";

/** A contender that takes too long here: left out, and said so. */
export class TooSlow extends Error {}

export interface FillOptions {
  readonly connections?: number;
  readonly perCall?: number;
}

/** One contender's fresh database, and its children. Whatever was started ends with `close`. */
export class Place {
  readonly bench: Bench;
  readonly contender: string;
  readonly url: string;
  readonly #children: Child[] = [];

  private constructor(bench: Bench, contender: string, url: string) {
    this.bench = bench;
    this.contender = contender;
    this.url = url;
  }

  static async open(bench: Bench, contender: string): Promise<Place> {
    return new Place(bench, contender, await bench.server.createDatabase());
  }

  /** A number of jobs, at the scale of this run. */
  scaled(count: number): number {
    return Math.max(1, Math.round(count * this.bench.scale));
  }

  start(): Child {
    const child = new Child(this.contender, this.bench.node, this.bench.env);
    this.#children.push(child);
    return child;
  }

  /** Makes the contender's tables. */
  async prepare(kinds: readonly string[]): Promise<void> {
    const child = this.start();
    await child.call("prepare", { url: this.url, kinds });
    await child.kill();
  }

  /** Puts jobs into the queue, nothing measured. Throws TooSlow. */
  async fill(plan: Plan, { connections = 2, perCall = 5_000 }: FillOptions = {}): Promise<void> {
    const child = this.start();
    await child.call("openProducer", { url: this.url, connections });
    const { fillLimitMs } = this.bench;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const message = `it takes more than ${fillLimitMs / 1_000} s to enqueue ${plan.count} jobs`;
      timer = setTimeout(() => reject(new TooSlow(message)), fillLimitMs);
    });
    try {
      await Promise.race([child.call("fill", { plan, perCall }), late]);
    } finally {
      clearTimeout(timer);
    }
    await child.kill();
  }

  /** Statistics, visibility and a checkpoint: as a table is that has stood for a while. */
  async settle(): Promise<void> {
    await this.query("vacuum (analyze)");
    await this.bench.server.checkpoint();
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = await this.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** A connection to its database; the caller ends it. */
  async connect(): Promise<Client> {
    const client = new Client({ connectionString: this.url });
    client.on("error", () => undefined); // the query that fails says it
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()));
    await this.bench.server.dropDatabase(this.url);
  }
}
