import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findBinaries, programsIn, serverUser } from "./postgres-binaries.ts";
import { type PostgresServer, runAs } from "./postgres-server.ts";

const debian15 = "/usr/lib/postgresql/15/bin";

/** The servers that the tests can have here, and where their programs are, if not in the package. */
export const servers: readonly { readonly name: string; readonly programs: string | undefined }[] =
  [
    { name: "PostgreSQL 18", programs: undefined },
    ...(existsSync(join(debian15, "initdb"))
      ? [{ name: "PostgreSQL 15", programs: debian15 }]
      : []),
  ];

/** `pg_ctl` for one data folder. Rejects where it ends with another code than 0. */
export type Control = (command: string, ...args: string[]) => Promise<void>;

export function controlOf(dataDir: string, programs?: string): Control {
  const user = serverUser();
  const { pg_ctl } = programs === undefined ? findBinaries(user) : programsIn(programs);
  return (command, ...args) => runAs(user, pg_ctl, [command, "-w", "-s", "-D", dataDir, ...args]);
}

/** Starts the server of a data folder on a port of `addresses`, by default of this machine alone. */
export function startOn(
  control: Control,
  { port, logFile }: Pick<PostgresServer, "port" | "logFile">,
  addresses = "127.0.0.1",
): Promise<void> {
  return control("start", "-l", logFile, "-o", `-c listen_addresses=${addresses} -c port=${port}`);
}

/** The process id of the server of a data folder. */
export function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n")[0]);
}
