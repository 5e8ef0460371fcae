import fc from "fast-check";
import { afterAll, beforeAll, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { calls } from "./draws.ts";
import { prepare } from "./real.ts";
import { replay } from "./replay.ts";

// More runs: `MODEL_RUNS=5000 npx vitest run test/model/random.test.ts`. A failure says how to repeat it.
const { MODEL_RUNS, MODEL_SEED, MODEL_PATH } = process.env;
const settings = {
  numRuns: Number(MODEL_RUNS ?? 120),
  ...(MODEL_SEED === undefined ? {} : { seed: Number(MODEL_SEED) }),
  ...(MODEL_PATH === undefined ? {} : { path: MODEL_PATH }),
};

// PostgreSQL alone: the other driver has PGlite.
let db: TestDatabase;
let rows: string;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
  await prepare(db, ["k", "l"]);
  rows = JSON.stringify(await db.value("select model.rows()"));
});
afterAll(() => db?.close());

test("any calls in any order answer and leave what the model says", async () => {
  const session = await db.connect();
  const property = fc.asyncProperty(calls, async (draws) => replay(session, rows, draws));
  const run = await fc.check(property, settings);
  if (!run.failed) return;
  const again = `MODEL_SEED=${run.seed} MODEL_PATH=${run.counterexamplePath} npx vitest run test/model/random.test.ts`;
  throw new Error(`Made smaller ${run.numShrinks} times. Again: ${again}`, {
    cause: run.errorInstance,
  });
}, 3_600_000);
