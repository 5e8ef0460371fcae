import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestDatabase } from "../support/databases.ts";
import { type Act, acts } from "./support/pairs-acts.ts";
import {
  type Arena,
  beginCases,
  keepWorld,
  openArena,
  takeSnapshot,
} from "./support/pairs-arena.ts";
import { deviations } from "./support/pairs-deviations.ts";
import {
  deadlocks,
  type Footprint,
  footprint,
  meet,
  type TakenRow,
  type Wait,
  waitsOf,
} from "./support/pairs-footprint.ts";
import {
  demandedPairs,
  isTaken,
  readers,
  type Table,
  type Taking,
  writers,
} from "./support/pairs-list.ts";
import { type Case, ends, openBaselines, stage } from "./support/pairs-stage.ts";
import { buildWorld, type World, worlds } from "./support/pairs-worlds.ts";

/** Each has a database of its own: some calls look at all jobs. */
const ARENAS = 4;
/** For hundreds of cases, on a machine that has much else to do. */
const TIMEOUT_MS = 180_000;

const arenas: Arena[] = [];
const footprints = new Map<World, Map<Act, Footprint>>();
const baselines = openBaselines();
const met = {
  pairs: new Set<string>(),
  orders: new Set<string>(),
  worlds: new Set<string>(),
  cases: 0,
  waits: 0,
};
const deviated = new Set<unknown>();

/** Works through the list with all arenas at once. */
async function through<T>(list: readonly T[], work: (arena: Arena, one: T) => Promise<void>) {
  const rest = [...list];
  await Promise.all(
    arenas.map(async (arena) => {
      for (let one = rest.shift(); one !== undefined; one = rest.shift()) await work(arena, one);
    }),
  );
}

const comes = (act: Act, { room, name }: World) =>
  act.rooms.includes(room) && (act.only?.test(name) ?? true);

beforeAll(async () => {
  for (let count = 0; count < ARENAS; count++) {
    const db = await openTestDatabase("postgres");
    await openArena(db);
    const [first, second] = [await db.connect(), await db.connect()];
    for (const session of [first, second]) await session.query("set statement_timeout = '20s'");
    arenas.push({ db, first, second });
  }
  await through(worlds, async ({ db }, world) => {
    await db.reset();
    const snapshot = await takeSnapshot(db, await buildWorld(db, world));
    for (const arena of arenas) await keepWorld(arena.db, world.name, snapshot);
  });
  for (const { db } of arenas) await beginCases(db);
  const calls = worlds.flatMap((world) =>
    acts.filter((act) => comes(act, world)).map((act) => ({ world, act })),
  );
  for (const world of worlds) footprints.set(world, new Map());
  await through(calls, async (arena, { world, act }) => {
    footprints.get(world)?.set(act, await footprint(arena, world, act));
  });
}, TIMEOUT_MS);
afterAll(async () => {
  for (const { db } of arenas) await db.close();
});

/** All that a function was seen to take, over all worlds. */
function takenBy(name: string): Footprint[] {
  return [...footprints.values()]
    .flatMap((byAct) => [...byAct])
    .filter(([act]) => act.function === name)
    .flatMap(([, taken]) => taken);
}

/** Whether a row may be locked so by what takes it in these ways. */
function allows(how: Taking[], lock: TakenRow["lock"]): boolean {
  if (lock === "for no key update") return how.some((taking) => taking !== "asks");
  const ways = lock === "added" ? ["adds", "follows"] : ["removes", "sweeps", "follows"];
  return how.some((taking) => ways.includes(taking));
}

describe("the list", () => {
  test("has every function of the schema", async () => {
    const names = await arenas[0]?.db.query(`
      select p.proname as name from pg_proc p
      where p.pronamespace = 'leasehold'::regnamespace and not starts_with(p.proname, '_') order by 1`);
    const listed = [...Object.keys(writers), ...readers];
    expect(names?.map(({ name }) => name).filter((name) => !listed.includes(name))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });

  test.each(Object.keys(writers))("says which rows %s takes, and how", (name) => {
    const takes = writers[name]?.takes ?? {};
    const seen = takenBy(name).flatMap(({ rows }) => rows);
    const tables = new Set(seen.map(({ table }) => table));
    const listed = (Object.keys(takes) as Table[]).filter((table) => isTaken(takes[table]));
    expect(listed.filter((table) => !tables.has(table))).toEqual([]);
    expect([...tables].filter((table) => takes[table] === undefined)).toEqual([]);
    const unlisted = seen.filter(({ table, lock }) => !allows(takes[table] ?? [], lock));
    expect(unlisted).toEqual([]);
  });
});

describe("no two calls can come to wait for each other", () => {
  test.each(worlds)(
    "$name",
    async (world) => {
      const waits: Wait[] = [];
      await through([...(footprints.get(world) ?? [])], async (arena, [act, taken]) => {
        waits.push(...(await waitsOf(arena, world, act, taken)));
      });
      expect(deadlocks(waits)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

/** The cases of a world: whatever one call takes there, and another as well or asks for. */
function casesIn(world: World): Case[] {
  const calls = [...(footprints.get(world) ?? [])];
  return calls.flatMap(([first, taken]) =>
    calls
      .filter(([second, other]) => meet(taken, second, other))
      .flatMap(([second]) => ends.map((end) => ({ world, first, taken, second, end }))),
  );
}

describe("any two calls that meet on a row come to what one of their orders gives", () => {
  test.each(worlds)(
    "$name",
    async (world) => {
      const faults: string[] = [];
      await through(casesIn(world), async (arena, one) => {
        const { fault, deviation, waited } = await stage(arena, baselines, one);
        if (fault !== undefined) faults.push(fault);
        deviated.add(deviation);
        met.cases++;
        met.waits += waited ? 1 : 0;
        met.worlds.add(world.name);
        met.orders.add(`${one.first.function} ${one.second.function}`);
        met.pairs.add([one.first.function, one.second.function].sort().join(" "));
      });
      expect(faults.join("\n\n")).toBe("");
    },
    TIMEOUT_MS,
  );

  test("all of them were staged that the list demands", () => {
    const { pairs, orders, worlds: staged, cases, waits } = met;
    console.info(
      `${pairs.size} pairs of functions in ${orders.size} orders and ${staged.size} states: ${cases} cases, of which ${waits} waited`,
    );
    const demanded = demandedPairs();
    const missing = demanded.filter(([first, second]) => !orders.has(`${first} ${second}`));
    expect(missing.map((pair) => pair.join(" "))).toEqual([]);
    expect(staged.size).toBe(worlds.length);
    expect(cases).toBeGreaterThanOrEqual(ends.length * demanded.length);
  });

  test("every deviation was met", () => {
    expect(deviations.filter((one) => !deviated.has(one))).toEqual([]);
  });
});
