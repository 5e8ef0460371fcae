import { Client } from "pg";
import { startPostgres } from "../../test/support/postgres-server.ts";
import { serverCpuSeconds } from "./cpu.ts";

/** Durable, as in production; everything else as PostgreSQL has it by default. */
const settings = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  shared_buffers: "1GB",
  max_connections: "200",
  jit: "on",
};

/** What the results name of it. */
const shown = [
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_sync_method",
  "shared_buffers",
  "max_wal_size",
  "checkpoint_timeout",
  "autovacuum",
  "autovacuum_naptime",
  "autovacuum_vacuum_scale_factor",
  "autovacuum_vacuum_cost_limit",
  "autovacuum_vacuum_cost_delay",
  "jit",
];

/** A server that somebody started: a superuser's URL, and where its files are, if they can be read. */
interface Started {
  readonly url: string;
  readonly dataDir?: string;
  stop?(): Promise<void>;
}

/** The server that everything is measured on, and what is asked of it beside the measurements. */
export class BenchServer {
  readonly #server: Started;
  readonly #admin: Client;
  #databases = 0;

  private constructor(server: Started, admin: Client) {
    this.#server = server;
    this.#admin = admin;
  }

  /** Starts one for this run. */
  static async start(): Promise<BenchServer> {
    return BenchServer.over(await startPostgres({ settings }));
  }

  /** Over one that runs already. */
  static async over(server: Started): Promise<BenchServer> {
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    return new BenchServer(server, admin);
  }

  /** Makes an empty database and answers its URL. */
  async createDatabase(): Promise<string> {
    this.#databases += 1;
    const name = `bench_${process.pid}_${this.#databases}`;
    await this.#admin.query(`create database ${name}`);
    return Object.assign(new URL(this.#server.url), { pathname: `/${name}` }).href;
  }

  /** Drops it and writes everything down, so that the next one begins with nothing to be written. */
  async dropDatabase(url: string): Promise<void> {
    await this.#admin.query(`drop database if exists ${databaseOf(url)} with (force)`);
    await this.checkpoint();
  }

  async checkpoint(): Promise<void> {
    await this.#admin.query("checkpoint");
  }

  /** Sets what a reload is enough for, until `reset`. */
  async set(changed: Record<string, string>): Promise<void> {
    for (const [name, value] of Object.entries(changed)) {
      await this.#admin.query(`alter system set ${name} = '${value}'`);
    }
    await this.#admin.query("select pg_reload_conf()");
  }

  async reset(): Promise<void> {
    await this.#admin.query("alter system reset all");
    await this.#admin.query("select pg_reload_conf()");
  }

  /** Transactions of a database so far. Sessions report theirs with a delay of up to ten seconds. */
  async transactions(url: string): Promise<number> {
    const text =
      "select (xact_commit + xact_rollback)::int as n from pg_stat_database where datname = $1";
    return (await this.#admin.query(text, [databaseOf(url)])).rows[0].n;
  }

  /** Undefined where it can't be known. */
  cpuSeconds(): number | undefined {
    const { dataDir } = this.#server;
    return dataDir === undefined ? undefined : serverCpuSeconds(dataDir);
  }

  get dataDir(): string | undefined {
    return this.#server.dataDir;
  }

  async description(): Promise<{ version: string; settings: Record<string, string> }> {
    const { rows } = await this.#admin.query(
      "select name, current_setting(name) as value from pg_settings where name = any ($1) order by name",
      [shown],
    );
    const version = (await this.#admin.query("show server_version")).rows[0].server_version;
    return { version, settings: Object.fromEntries(rows.map((row) => [row.name, row.value])) };
  }

  async stop(): Promise<void> {
    await this.#admin.end();
    await this.#server.stop?.();
  }
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}
