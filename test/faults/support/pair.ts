import { execFileSync } from "node:child_process";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import nodePostgres from "pg";
import { until } from "../../drain/support/client.ts";
import { controlOf, postmasterOf, startOn } from "../../support/postgres-control.ts";
import { freePort, type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { urlOf, withClient } from "../../support/template.ts";

/** A primary and its standby, which streams from it. */
export interface Pair {
  /** The database `jobs` on the primary. */
  readonly primaryUrl: string;
  /** The same on the standby: it takes no writes before `promote`. */
  readonly standbyUrl: string;
  /** Kills the primary as a loss of power does: all of its processes, with no last word. */
  killPrimary(): Promise<void>;
  /** Cuts the way of the WAL for good: the standby falls behind. */
  withhold(): void;
  /** Lets the standby take over; resolves when it takes writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export interface PairOptions {
  /** Whether a commit waits until the standby has it. */
  readonly synchronous: boolean;
  /** The folder of another installation's programs; by default those of the npm package. */
  readonly programs?: string | undefined;
}

/**
 * Starts both. The standby begins with a copy of the primary's files, taken while that stands still:
 * the npm package has no pg_basebackup.
 */
export async function startPair({ synchronous, programs }: PairOptions): Promise<Pair> {
  const primary = await startPostgres({ programs });
  await withClient(primary.url, (client) => client.query("create database jobs"));
  const wal = await startTcpProxy(primary.url);
  const control = controlOf(primary.dataDir, programs);
  await control("stop", "-m", "fast");
  // Within the primary's folder, which goes when this process ends in whatever way. A server whose
  // files are gone notices within a minute, and ends.
  const dataDir = join(primary.socketDir, "standby");
  copyFiles(primary.dataDir, dataDir, wal.port);
  await startOn(control, primary);
  const port = await freePort();
  const standby = controlOf(dataDir, programs);
  await startOn(standby, { port, logFile: join(primary.socketDir, "standby.log") });
  await followed(primary.url, synchronous);
  return {
    primaryUrl: urlOf(primary.url, "jobs"),
    standbyUrl: `postgres://postgres@127.0.0.1:${port}/jobs`,
    killPrimary: () => killServer(primary),
    withhold: () => wal.cut(),
    promote: () => standby("promote"),
    async stop() {
      await standby("stop", "-m", "immediate");
      await primary.stop().catch(() => undefined); // there is nothing to stop where it was killed
      rmSync(primary.socketDir, { recursive: true, force: true });
      await wal.close();
    },
  };
}

function copyFiles(from: string, to: string, walPort: number): void {
  execFileSync("cp", ["-a", from, to]); // with their owner, unlike Node's
  const primary = `host=127.0.0.1 port=${walPort} user=postgres application_name=standby`;
  const settings = [`primary_conninfo = '${primary}'`, "wal_retrieve_retry_interval = 100"];
  appendFileSync(join(to, "postgresql.conf"), `${settings.join("\n")}\n`);
  writeFileSync(join(to, "standby.signal"), "");
}

/** Resolves when the standby streams, and, if it is to be synchronous, each commit waits for it. */
async function followed(primaryUrl: string, synchronous: boolean): Promise<void> {
  await withClient(primaryUrl, async (client) => {
    if (synchronous) {
      await client.query("alter system set synchronous_standby_names = 'standby'");
      await client.query("select pg_reload_conf()");
    }
    const states = "select sync_state from pg_stat_replication where state = 'streaming'";
    const wanted = synchronous ? "sync" : "async";
    const follows = async () => (await client.query(states)).rows[0]?.sync_state === wanted;
    await until(follows, `a standby that is ${wanted}`);
  });
}

/** SIGKILL for the postmaster and all of its children; resolves when nobody answers any more. */
async function killServer({ dataDir, url }: PostgresServer): Promise<void> {
  const postmaster = postmasterOf(dataDir);
  const processes = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const children = processes.filter(([, parent]) => parent === postmaster).map(([pid]) => pid);
  for (const pid of [postmaster, ...children]) kill(pid);
  await until(async () => !(await answers(url)), "the end of the primary");
}

function kill(pid: number | undefined): void {
  if (pid === undefined || !(pid > 1)) throw new Error(`${pid} is no process to kill`);
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new nodePostgres.Client({ connectionString: url });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
