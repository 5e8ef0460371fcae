import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { leasehold } from "./binary.ts";

/*
 * A terminal obeys what is written to it: text that somebody has put into a job must not clear the
 * operator's screen, rename a job before their eyes, or begin a line of its own.
 */

const clears = "\u001b[2J";
const clears8 = "\u009b2J"; // the same in one character, which some terminals obey as well
const reversed = "\u202e";
const exact = "9007199254740993"; // 2^53 + 1

let db: TestDatabase;
let id: string;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  const options = { key: `order${reversed}17`, owner: `ann${reversed}` };
  const args = { p_kind: "<img src=x onerror=alert(1)>", p_options: options };
  ({ id } = (await db.database.call("enqueue", args)) as { id: string });
  await db.database.call("claim_job", { p_id: id });
  const progress = { text: `${clears}${clears8}\n${reversed}`, exact: "here" };
  await db.database.call("extend", { p_id: id, p_generation: 1, p_progress: progress });
  await db.query(`update leasehold.jobs set progress = jsonb_set(progress, '{exact}', '${exact}')`);
  const error = { code: `${clears}NO${clears8}\nforged`, message: `${clears}${clears8}` };
  const fail = { p_id: id, p_generation: 1, p_error: error, p_permanent: true };
  await db.database.call("fail", fail);
});
afterAll(() => db.close());

const run = (...args: string[]) => leasehold(args, { env: { DATABASE_URL: db.url } });

/** All that a terminal would obey, or that turns the direction of writing. */
const obeyed = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

describe("what somebody wrote into a job (S42)", () => {
  it.each([
    ["jobs", () => []],
    ["status", () => [id]],
    ["retry", () => ["--owner", `bob${clears}`, id]],
    ["jobs", () => ["--json"]],
    ["status", () => [id, "--json"]],
    ["kinds", () => []],
    ["stats", () => []],
    ["enqueue", () => ["k", `{"a": "${clears}"}`, "--key", clears8]],
    [`no${clears}such`, () => []],
  ])("is shown by %s, and obeyed by no terminal", async (command, args) => {
    const { stdout, stderr } = await run(command, ...args());
    const said = `${stdout}${stderr}`;
    expect(said.length).toBeGreaterThan(0);
    expect(said.split("\n").filter((line) => obeyed.test(line))).toEqual([]);
    expect(said).not.toMatch(/^forged/m);
  });
});

describe("a number that JavaScript would round (S11)", () => {
  it.each([[[]], [["--json"]]])("is printed as it is, %j", async (json) => {
    const { code, stdout } = await run("status", id, ...json);
    expect(code).toBe(0);
    expect(stdout).toContain(exact);
    if (json.length > 0) expect(JSON.parse(stdout)).toMatchObject({ id });
  });
});
