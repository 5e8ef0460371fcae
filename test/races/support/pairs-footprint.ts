import type { Act } from "./pairs-acts.ts";
import type { Arena } from "./pairs-arena.ts";
import { type Table, writers } from "./pairs-list.ts";
import { met, restoring } from "./pairs-stage.ts";
import type { World } from "./pairs-worlds.ts";

/** A row that a call has locked or added while its transaction is open. */
export interface TakenRow {
  table: Table;
  /** Alike for a row that is there and one that is added under the same unique key. */
  name: string;
  lock: "for no key update" | "for update" | "added";
}

export interface Footprint {
  rows: TakenRow[];
}

/** What a call takes in a world, as another connection finds it. */
export async function footprint(
  { first, second }: Arena,
  world: World,
  act: Act,
): Promise<Footprint> {
  await first.query(`${restoring(world)} savepoint call`);
  await first.query(act.sql).catch((error) => {
    // A claim that is not valid: guard takes nothing then. All else is a mistake in the list.
    if (error.code !== "LH001") throw new Error(`${act.name} in ${world.name}`, { cause: error });
    return first.query("rollback to call");
  });
  const own: string[] = await first.value("select pairs.seen()");
  const others: string[] = await second.value("select pairs.seen()");
  const taken: string[] = await second.value("select pairs.taken()");
  await first.query("rollback");
  const added = own.filter((name) => !others.includes(name));
  return {
    rows: [
      ...taken.map((text) =>
        row(
          text.replace(/ for update$/, ""),
          text.endsWith(" for update") ? "for update" : "for no key update",
        ),
      ),
      ...added.map((text) => row(text, "added")),
    ],
  };
}

function row(text: string, lock: TakenRow["lock"]): TakenRow {
  return { table: text.split(" ")[0] as Table, name: text, lock };
}

/** Whether the second call can meet what the first one has taken: it takes one of the rows, or asks. */
export function meet(taken: Footprint, second: Act, other: Footprint): boolean {
  const takes = writers[second.function]?.takes ?? {};
  return taken.rows.some(
    ({ table, name }) =>
      takes[table]?.includes("asks") || other.rows.some((one) => one.name === name),
  );
}

/** What a call has locked when it waits for a row that somebody else has. */
export interface Wait {
  act: Act;
  row: string;
  held: string[];
}

/** Where a call waits when each of its rows in turn is somebody else's. */
export async function waitsOf(
  arena: Arena,
  world: World,
  act: Act,
  { rows }: Footprint,
): Promise<Wait[]> {
  const waits: Wait[] = [];
  for (const { name } of rows.filter(({ lock }) => lock !== "added")) {
    const { first: holder, second: caller, db } = arena;
    await holder.query(`${restoring(world)} select pairs.hold('${name}')`);
    await caller.begin();
    const call = caller.query(act.sql).catch(() => undefined);
    if (await met(db, caller, holder, call)) {
      const taken: string[] = await db.value("select pairs.taken()");
      const held = taken.map((text) => text.replace(/ for update$/, ""));
      waits.push({ act, row: name, held: held.filter((one) => one !== name) });
    }
    await holder.rollback();
    await call;
    await caller.rollback();
  }
  return waits;
}

/** Pairs of calls of which each could come to wait for what the other one has: PostgreSQL would end one. */
export function deadlocks(waits: Wait[]): string[] {
  return waits.flatMap((one) =>
    waits
      .filter((other) => one.held.includes(other.row) && other.held.includes(one.row))
      // What both take before keeps them apart.
      .filter((other) => !one.held.some((row) => other.held.includes(row)))
      .map(
        (other) =>
          `${one.act.name} has ${one.held} and waits for ${one.row}, which ${other.act.name} has`,
      ),
  );
}
