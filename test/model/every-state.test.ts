import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { explore } from "./explore.ts";
import { plans, widePlans } from "./plans.ts";
import { prepare } from "./real.ts";
import { spaceOf } from "./spaces.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("pglite");
  await prepare(db, ["k"]);
});
afterAll(() => db?.close());

// `MODEL_WIDE=1 npx vitest run test/model/every-state.test.ts` visits the wider spaces too.
const visited = process.env.MODEL_WIDE ? [...plans, ...widePlans] : plans;

test.each(visited)(
  "every state of $name, by every step from each",
  async ({ plan, size }) => {
    const started = performance.now();
    const found = await explore(db, spaceOf(plan));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${found.states} states, ${found.steps} steps, ${seconds} s`);
    // Another number is another model: see that it is meant.
    expect(found).toEqual(size);
  },
  3_600_000,
);
