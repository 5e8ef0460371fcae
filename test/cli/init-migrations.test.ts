import { writeFileSync } from "node:fs";
import { join } from "node:path";
import createKnex from "knex";
import { afterEach, describe, expect, it } from "vitest";
import { renderSql, renderWakeups, schemaVersion } from "../../src/schema/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import {
  actions,
  type InitProject,
  makeInitProject,
  manifest,
  nextProject,
  supabaseProject,
} from "./init-project.ts";

/** What an older leasehold has written: the same script, with the sum of other SQL. */
function olderSql(schema = "leasehold"): string {
  return renderSql({ schema }).replaceAll(/'[0-9a-f]{64}'/g, `'${"0".repeat(64)}'`);
}

/** The paths of migrations that init writes. */
const written = (project: InitProject, choices = {}): string[] =>
  project.init(choices).filter((path) => path.includes("migrations/") || path.includes("drizzle"));

describe("a migration for Supabase", () => {
  const first = "supabase/migrations/20300131120000_leasehold.sql";
  const wakeups = "supabase/migrations/20300131120001_leasehold_wakeups.sql";

  it("has leasehold's SQL, and a second one the wake-ups, which hold no secret", () => {
    const project = makeInitProject(supabaseProject);
    expect(written(project)).toEqual([first, wakeups]);
    expect(project.get(first)).toBe(renderSql());
    expect(project.get(wakeups)).toBe(renderWakeups());
  });

  it("is there but once", () => {
    const project = makeInitProject(supabaseProject);
    project.init();
    const files = project.files();
    expect(project.init({ now: new Date("2031-01-01") })).toEqual([]);
    expect(project.files()).toEqual(files);
  });

  it("comes behind every other one, also where a clock was wrong", () => {
    const project = makeInitProject(supabaseProject);
    project.put("supabase/migrations/20350101235959_later.sql", "select 1;\n");
    project.put("supabase/migrations/README.md", "");
    expect(written(project)).toEqual([
      "supabase/migrations/20350102000000_leasehold.sql",
      "supabase/migrations/20350102000001_leasehold_wakeups.sql",
    ]);
  });

  it("upgrades what an older leasehold has written, and is written once", () => {
    const project = makeInitProject(supabaseProject);
    project.put("supabase/migrations/20290101000000_leasehold.sql", olderSql());
    const edited = renderWakeups({ schedule: "*/5 * * * *" });
    project.put("supabase/migrations/20290101000001_mine.sql", edited);
    const upgrade = "supabase/migrations/20300131120000_leasehold_upgrade.sql";
    expect(written(project)).toEqual([upgrade]);
    expect(project.get(upgrade)).toBe(renderSql());
    expect(written(project, { now: new Date("2031-01-01") })).toEqual([]);
    expect(project.get("supabase/migrations/20290101000001_mine.sql")).toBe(edited);
  });

  it("knows its own by what stands in them, whatever they are called", () => {
    const project = makeInitProject(supabaseProject);
    project.put("supabase/migrations/20290101000000_jobs.sql", `\ufeff${renderSql()}`);
    expect(written(project)).toEqual([wakeups]);
    const foreign = makeInitProject(supabaseProject);
    foreign.put("supabase/migrations/20290101000000_leasehold.sql", "create table tenants ();\n");
    expect(written(foreign)).toEqual([first, wakeups]);
  });

  it("is looked for in the order of the names: the newest counts", () => {
    const project = makeInitProject(supabaseProject);
    project.put("supabase/migrations/20280101000000_leasehold.sql", renderSql());
    project.put("supabase/migrations/20290101000000_leasehold_upgrade.sql", olderSql());
    expect(written(project)).toContain("supabase/migrations/20300131120000_leasehold_upgrade.sql");
  });

  it("of a newer leasehold is not undone: nothing is written", () => {
    const newer = renderSql().replace(
      `schema version ${schemaVersion}:`,
      `schema version ${schemaVersion + 1}:`,
    );
    const project = makeInitProject(supabaseProject);
    project.put("supabase/migrations/20290101000000_leasehold.sql", newer);
    const files = project.files();
    expect(() => project.init()).toThrow(`version ${schemaVersion + 1} of the schema, newer than`);
    expect(project.files()).toEqual(files);
  });

  it("is one for each schema, and the code and the Data API know its name", () => {
    const project = makeInitProject(supabaseProject);
    project.init();
    const paths = written(project, { schema: "other jobs", now: new Date("2031-01-01T00:00:00Z") });
    expect(paths).toEqual([
      "supabase/migrations/20310101000000_leasehold.sql",
      "supabase/migrations/20310101000001_leasehold_wakeups.sql",
    ]);
    expect(project.get(paths[0] ?? "")).toBe(renderSql({ schema: "other jobs" }));
    expect(project.get("supabase/config.toml")).toContain('"leasehold", "other jobs"]');
    const fresh = makeInitProject(supabaseProject);
    fresh.init({ schema: "it's" });
    expect(fresh.get("lib/leasehold.ts")).toContain(`pg(pool, { schema: "it's" })`);
    expect(fresh.get(wakeups)).toBe(renderWakeups({ schema: "it's" }));
    expect(fresh.init({ schema: "it's" })).toEqual([]);
  });

  it("has no wake-ups where there is no route to call", () => {
    const { "app/page.tsx": _, ...withoutApp } = supabaseProject;
    expect(written(makeInitProject(withoutApp))).toEqual([first]);
  });
});

describe("a migration for Prisma", () => {
  const schema = { "prisma/schema.prisma": 'datasource db { provider = "postgresql" }\n' };

  it("is a folder of its own, and the lock says that it is for PostgreSQL", () => {
    const project = makeInitProject({ ...nextProject, ...schema });
    const path = "prisma/migrations/20300131120000_leasehold/migration.sql";
    expect(written(project)).toEqual([path, "prisma/migrations/migration_lock.toml"]);
    expect(project.get(path)).toBe(renderSql());
    expect(project.get("prisma/migrations/migration_lock.toml")).toContain('"postgresql"');
    expect(project.init({ now: new Date("2031-01-01") })).toEqual([]);
  });

  it("comes behind the others, keeps their lock, and upgrades", () => {
    const project = makeInitProject({ ...nextProject, ...schema });
    const lock = '# Please do not edit\nprovider = "postgresql"\n';
    project.put("prisma/migrations/migration_lock.toml", lock);
    project.put("prisma/migrations/20310101000000_leasehold/migration.sql", olderSql());
    expect(written(project)).toEqual([
      "prisma/migrations/20310101000001_leasehold_upgrade/migration.sql",
    ]);
    expect(project.get("prisma/migrations/migration_lock.toml")).toBe(lock);
  });

  it.each<[string, Record<string, string>, string]>([
    [
      "prisma.config.ts names it",
      {
        "prisma.config.ts": 'export default { migrations: { path: "db/migrations", seed: "x" } };',
      },
      "db/migrations",
    ],
    [
      "the schema lies",
      { "prisma.config.ts": "export default { schema: './db/schema.prisma' };" },
      "db/migrations",
    ],
    ["the root is", { "schema.prisma": "" }, "migrations"],
  ])("lies where %s", (_, files, folder) => {
    const [path] = written(makeInitProject({ ...nextProject, ...files }));
    expect(path).toBe(`${folder}/20300131120000_leasehold/migration.sql`);
  });
});

describe("a migration for Drizzle", () => {
  const config = { "drizzle.config.ts": 'export default { out: "./drizzle", schema: "./s.ts" };' };
  const journal = (...tags: string[]) => {
    const entry = (tag: string, idx: number) => ({
      idx,
      version: "7",
      when: Date.parse("2040-01-01") + idx,
      tag,
      breakpoints: true,
    });
    return JSON.stringify(
      { version: "7", dialect: "postgresql", entries: tags.map(entry) },
      null,
      2,
    );
  };

  it("is numbered, and listed in the journal behind the others", () => {
    const project = makeInitProject({ ...nextProject, ...config });
    project.put("drizzle/0000_first.sql", "select 1;");
    project.put("drizzle/meta/_journal.json", journal("0000_first"));
    expect(written(project)).toEqual(["drizzle/0001_leasehold.sql", "drizzle/meta/_journal.json"]);
    expect(project.get("drizzle/0001_leasehold.sql")).toBe(renderSql());
    const expected = JSON.parse(journal("0000_first", "0001_leasehold"));
    expect(JSON.parse(project.get("drizzle/meta/_journal.json") ?? "")).toEqual(expected);
    expect(project.init()).toEqual([]);
  });

  it("is the first of a journal of its own, where there is none", () => {
    const project = makeInitProject({ ...nextProject, ...config });
    expect(written(project)).toContain("drizzle/0000_leasehold.sql");
    const { entries } = JSON.parse(project.get("drizzle/meta/_journal.json") ?? "");
    expect(entries).toEqual([
      expect.objectContaining({
        idx: 0,
        tag: "0000_leasehold",
        when: Date.parse("2030-01-31T12:00Z"),
      }),
    ]);
  });

  it("has a time for its name where the others have", () => {
    const project = makeInitProject({ ...nextProject, ...config });
    project.put("drizzle/20290101000000_first.sql", "select 1;");
    project.put("drizzle/meta/_journal.json", journal("20290101000000_first"));
    expect(written(project)).toContain("drizzle/20300131120000_leasehold.sql");
  });

  it("is not written beside a journal that is broken, or for another database", () => {
    for (const text of ["{", '{ "dialect": "sqlite", "entries": [] }', "null"]) {
      const project = makeInitProject({ ...nextProject, ...config });
      project.put("drizzle/meta/_journal.json", text);
      const files = project.files();
      expect(() => project.init()).toThrow("_journal.json is no journal of Drizzle's");
      expect(project.files()).toEqual(files);
    }
  });
});

describe("a migration for Knex", () => {
  let db: TestDatabase | undefined;
  afterEach(async () => {
    await db?.close();
    db = undefined;
  });

  it.each<[string, Record<string, string>]>([
    ["CommonJS", { "package.json": manifest(), "knexfile.js": "module.exports = {};" }],
    [
      "an ES module",
      { "package.json": manifest({}, { type: "module" }), "knexfile.js": "export default {};" },
    ],
  ])("as %s installs leasehold when Knex runs it", async (_, files) => {
    db = await openTestDatabase("postgres", { migrated: false });
    const project = makeInitProject(files);
    const paths = written(project);
    expect(paths).toEqual([
      "migrations/20300131120000_leasehold.sql",
      "migrations/20300131120000_leasehold.js",
    ]);
    const knex = createKnex({ client: "pg", connection: db.url });
    try {
      const directory = join(project.root, "migrations");
      await knex.migrate.latest({ directory });
      const answer = await knex.raw("select leasehold.enqueue('greet') ->> 'outcome' as outcome");
      expect(answer.rows).toEqual([{ outcome: "created" }]);
      // Question marks are operators there; Knex would make bindings of them.
      const cancelled = await knex.raw(
        `select leasehold.cancel_many('{"kind": "greet"}') as answer`,
      );
      expect(cancelled.rows[0].answer).toMatchObject({ cancelled: 1 });
      await knex.migrate.rollback({ directory });
      expect((await knex.raw("select leasehold.stats() as stats")).rows).toHaveLength(1);
    } finally {
      await knex.destroy();
    }
  });

  it("is TypeScript where knexfile is, and lies where that says", () => {
    const knexfile = 'export default { migrations: { directory: "./db/migrations" } };';
    const project = makeInitProject({ "package.json": manifest(), "knexfile.ts": knexfile });
    const [, path = ""] = written(project);
    expect(path).toBe("db/migrations/20300131120000_leasehold.ts");
    expect(project.get(path)).toContain("export async function up(knex: Knex): Promise<void> {");
    expect(project.get(path)).toContain('join(__dirname, "20300131120000_leasehold.sql")');
  });
});

describe("the tool", () => {
  const drizzle = { "drizzle.config.ts": "export default {};" };

  it("is Supabase before an ORM, unless only the ORM has migrations yet", () => {
    const both = makeInitProject({ ...supabaseProject, ...drizzle });
    expect(both.look().migrations?.tool).toBe("supabase");
    both.put("drizzle/0000_first.sql", "select 1;");
    expect(both.look().migrations?.tool).toBe("drizzle");
    both.put("supabase/migrations/20290101000000_first.sql", "select 1;");
    expect(both.look().migrations?.tool).toBe("supabase");
  });

  it("is none where there is none: then nothing is written for the database", () => {
    const project = makeInitProject(nextProject);
    expect(project.look().migrations).toBeUndefined();
    expect(Object.keys(actions(project.decide())).filter((path) => path.endsWith(".sql"))).toEqual(
      [],
    );
  });

  it("is not Supabase because of a folder of that name", () => {
    const project = makeInitProject({ ...nextProject, "supabase/client.ts": "" });
    expect(project.look()).toMatchObject({ supabase: undefined, migrations: undefined });
  });

  it("is Supabase by its migrations alone, and no config.toml is made then", () => {
    const project = makeInitProject({
      ...nextProject,
      "supabase/migrations/20290101000000_a.sql": "",
    });
    expect(written(project)).toHaveLength(2);
    expect(project.get("supabase/config.toml")).toBeUndefined();
  });

  it("is not led out of the project by a path", () => {
    const project = makeInitProject({
      ...nextProject,
      "drizzle.config.ts": 'export default { out: "../elsewhere" };',
    });
    expect(project.look().migrations?.folder).toBe("drizzle");
  });
});

it("a migration that is no text is told by its path", () => {
  const project = makeInitProject(supabaseProject);
  project.put("supabase/migrations/a.sql", "");
  writeFileSync(join(project.root, "supabase/migrations/a.sql"), Buffer.from([0xff, 0xfe, 0x00]));
  expect(() => project.init()).toThrow(
    "supabase/migrations/a.sql can't be read: it is no UTF-8 text",
  );
});
