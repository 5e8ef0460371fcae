import type { PackageManager } from "./look/package-manager.ts";
import type { Packages } from "./look/packages.ts";

/** What init has found out about a project. Paths are relative to it, with slashes. */
export interface Project {
  readonly root: string;
  readonly packageManager: PackageManager;
  readonly packages: Packages;
  readonly code: Code;
  readonly next: Next | undefined;
  /** Where leasehold's SQL goes; undefined where no tool of the project's applies migrations. */
  readonly migrations: Migrations | undefined;
  readonly supabase: Supabase | undefined;
  /** The file in which examples of environment variables stand, also where it is yet to be made. */
  readonly envExample: string;
  /** Where the values of this machine stand: what Next reads, else .env. */
  readonly envFile: { readonly path: string; readonly there: boolean };
  readonly hasGitignore: boolean;
  readonly vercel: Vercel;
}

/** How the project's own code is written. */
export interface Code {
  readonly typescript: boolean;
  /** Whether a `.js` file is an ES module to Node. */
  readonly esm: boolean;
  /** Of a new module. */
  readonly ending: "ts" | "js" | "mjs";
  /** What relative imports must end with; "" where a bundler finds it. */
  readonly importEnding: "" | ".ts" | ".js" | ".mjs";
  /** Where modules like lib/db.ts lie. */
  readonly folder: string;
  readonly aliases: readonly Alias[];
}

/** `{ prefix: "@/", folder: "src/" }`: "@/lib/jobs" is src/lib/jobs. */
export interface Alias {
  readonly prefix: string;
  /** With a slash at its end; "" is the project's folder. */
  readonly folder: string;
}

export interface Next {
  /** "16.4.6", as far as it is known. */
  readonly version: string | undefined;
  /** The App Router's folder; undefined where there is none, or Next is older than 15.1. */
  readonly app: string | undefined;
  /** Why `app` is undefined, and what to do about it. */
  readonly withoutApp: string | undefined;
  /** next.config with its ending; undefined where there is none. */
  readonly config: string | undefined;
  /** Whether its builds go through webpack. */
  readonly webpack: boolean;
}

export interface Vercel {
  /** A configuration that is a module in place of vercel.json. */
  readonly module: string | undefined;
  /** Whether a cron of the configuration calls the drain. */
  readonly callsDrain: boolean;
}

export interface Supabase {
  readonly hasConfig: boolean;
  /** Of the local database and API, as config.toml has them. */
  readonly databasePort: number;
  readonly apiPort: number;
}

export interface Migrations {
  readonly tool: "supabase" | "prisma" | "drizzle" | "knex";
  readonly folder: string;
  /** The names of what is in it, sorted. */
  readonly names: readonly string[];
  /** Each that installs leasehold, whatever its schema, in the order in which they are applied. */
  readonly own: readonly OwnMigration[];
  /** Those that bring the wake-ups, by the schema that they are for. */
  readonly wakeups: ReadonlyMap<string, string>;
  /** Whether migrations that are modules, as Knex's are, are written in TypeScript. */
  readonly typescript: boolean;
}

/** A migration that a leasehold wrote. */
export interface OwnMigration {
  /** Of its SQL. */
  readonly path: string;
  /** The version of leasehold's schema that it brings. */
  readonly version: number;
  /** Of all its SQL. */
  readonly checksum: string;
  /** The name of the schema. */
  readonly schema: string;
}
