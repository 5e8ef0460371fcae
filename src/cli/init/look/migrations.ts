import { posix } from "node:path";
import type { Folder } from "../folder.ts";
import type { Migrations, OwnMigration } from "../project.ts";
import { isSupabaseProject, supabaseMigrations } from "./supabase.ts";

type Home = Pick<Migrations, "tool" | "folder" | "typescript">;

/**
 * Where the project's migrations lie: Supabase's, unless it has none yet and an ORM has; then Prisma's,
 * Drizzle's, Knex's. Undefined where there is no such tool.
 */
export function lookForMigrations(folder: Folder): Migrations | undefined {
  const homes = [supabase(folder), prisma(folder), drizzle(folder), knex(folder)].filter(
    (home) => home !== undefined,
  );
  const used = homes.find(({ folder: path }) => folder.list(path).length > 0);
  const home = used ?? homes[0];
  if (home === undefined) return undefined;
  const names = folder.list(home.folder);
  const scripts = names.flatMap((name) => scriptOf(folder, home, name));
  return { ...home, names, own: scripts.flatMap(ownMigration), wakeups: wakeupsIn(scripts) };
}

function supabase(folder: Folder): Home | undefined {
  if (!isSupabaseProject(folder)) return undefined;
  return { tool: "supabase", folder: supabaseMigrations, typescript: false };
}

function prisma(folder: Folder): Home | undefined {
  const config = textOf(folder, "prisma.config", ["ts", "mts", "cts", "mjs", "js", "cjs"]);
  const schema =
    textIn(config, "schema") ??
    ["prisma/schema.prisma", "prisma/schema", "schema.prisma"].find(
      (path) => folder.isFile(path) || folder.isFolder(path),
    );
  if (config === undefined && schema === undefined) return undefined;
  const migrations = /\bmigrations\s*:\s*\{([^}]*)\}/.exec(config ?? "")?.[1];
  const beside = posix.join(posix.dirname(schema ?? "prisma/schema"), "migrations");
  return { tool: "prisma", folder: textIn(migrations, "path") ?? beside, typescript: false };
}

function drizzle(folder: Folder): Home | undefined {
  const config = textOf(folder, "drizzle.config", ["ts", "mts", "js", "mjs", "cjs", "json"]);
  if (config === undefined) return undefined;
  return { tool: "drizzle", folder: textIn(config, "out") ?? "drizzle", typescript: false };
}

function knex(folder: Folder): Home | undefined {
  const endings = ["ts", "mjs", "cjs", "js"];
  const config = textOf(folder, "knexfile", endings);
  if (config === undefined) return undefined;
  const migrations = /\bmigrations\s*:\s*\{([^}]*)\}/.exec(config)?.[1];
  return {
    tool: "knex",
    folder: textIn(migrations, "directory") ?? "migrations",
    typescript: folder.isFile("knexfile.ts"),
  };
}

function textOf(folder: Folder, name: string, endings: readonly string[]): string | undefined {
  const path = endings.map((ending) => `${name}.${ending}`).find((file) => folder.isFile(file));
  return path === undefined ? undefined : folder.read(path)?.text;
}

/** The value of `name: "text"` in a configuration, where it is plain text, as a path in the project. */
function textIn(config: string | undefined, name: string): string | undefined {
  const value = new RegExp(`(?<![\\w$])["']?${name}["']?\\s*:\\s*(["'\`])([^"'\`$]+)\\1`).exec(
    config ?? "",
  )?.[2];
  const path = value === undefined ? undefined : posix.normalize(value).replace(/\/$/, "");
  return path === undefined || path.startsWith("..") || path.startsWith("/") ? undefined : path;
}

/** A migration in SQL. */
interface Script {
  readonly path: string;
  readonly text: string;
}

function scriptOf(folder: Folder, { tool, folder: home }: Home, name: string): Script[] {
  const path = `${home}/${name}${tool === "prisma" ? "/migration.sql" : ""}`;
  if (!path.endsWith(".sql") || !folder.isFile(path)) return [];
  return [{ path, text: folder.read(path)?.text ?? "" }];
}

/** By what `renderSql` writes at the head of its script, in its lock, and at its end. */
function ownMigration({ path, text }: Script): OwnMigration[] {
  const version = /^-- leasehold, schema version (\d+):/.exec(text)?.[1];
  const checksum = /set checksum = '([0-9a-f]{64})'/.exec(text)?.[1];
  const schema = literal(text, /'leasehold\.migrate:((?:[^']|'')+)'/);
  if (version === undefined || checksum === undefined || schema === undefined) return [];
  return [{ path, version: Number(version), checksum, schema }];
}

/** By the secret in which `renderWakeups` looks for the address. */
function wakeupsIn(scripts: readonly Script[]): Migrations["wakeups"] {
  const found = scripts.flatMap(({ path, text }): [string, string][] => {
    const schema = literal(text, /name = '((?:[^']|'')+)_drain_url'/);
    return schema === undefined ? [] : [[schema, path]];
  });
  return new Map(found);
}

function literal(text: string, pattern: RegExp): string | undefined {
  return pattern.exec(text)?.[1]?.replaceAll("''", "'");
}
