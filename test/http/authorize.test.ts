import { afterAll, beforeAll, expect, test } from "vitest";
import { http } from "../../src/http/index.ts";
import { createLeasehold } from "../../src/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { assess, jobsOf, routes } from "./support/routes.ts";

let db: TestDatabase;
let id: string;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
  const answer = await createLeasehold({ database: db.database }).enqueue(assess, {
    address: "Mill Lane 1",
  });
  if (answer.outcome !== "created") throw new Error(answer.outcome);
  id = answer.id;
});
afterAll(() => db.close());

/** Asks for a job without an owner, and for a start; what `authorize` answers is given. */
async function asked(authorize: () => unknown) {
  const { ask, leasehold } = routes(db.database, { authorize: authorize as () => null });
  const answers = [await ask(`/jobs/${id}`), await ask("/jobs/assess", { json: { address: "x" } })];
  return { statuses: answers.map(({ status }) => status), answers, leasehold };
}

test.each([null, undefined, Promise.resolve(null)])("%s is nobody", async (nobody) => {
  const { statuses, leasehold } = await asked(() => nobody);
  expect(statuses).toEqual([401, 401]);
  expect(leasehold.toldOf("error")).toEqual([]);
});

test.each([
  {},
  { owner: undefined },
  { owner: null },
  { owner: "" },
  { owner: " " },
  { owner: 5 },
  { owner: "x".repeat(501) },
  { user: "ann" },
  { admin: false },
  { admin: "true" },
  { admin: 1 },
  { admin: true, owner: undefined },
  { admin: true, owner: "" },
  true,
  "ann",
  [],
])("%j is a mistake of the server's, and never everyone's", async (nonsense) => {
  const { statuses, answers, leasehold } = await asked(() => nonsense);
  expect(statuses).toEqual([500, 500]);
  expect(await answers[0]?.json()).toEqual({
    error: { code: "INTERNAL", message: "Something went wrong on the server." },
  });
  const told = leasehold.toldOf("error");
  expect(told).toHaveLength(2);
  expect(told[0]).toMatchObject({ during: "request" });
  expect(String(told[0]?.error)).toContain("authorize answered");
  expect(await jobsOf(db)).toHaveLength(1);
});

test("what it throws is told to the server, and not to the caller", async () => {
  const { statuses, answers, leasehold } = await asked(() => {
    throw new Error("select * from sessions");
  });
  expect(statuses).toEqual([500, 500]);
  expect(await answers[0]?.text()).not.toContain("sessions");
  expect(String(leasehold.toldOf("error")[0]?.error)).toContain("select * from sessions");
});

test("a Response that it answers or throws is the answer", async () => {
  const gone = () => new Response("log in first", { status: 419 });
  for (const authorize of [
    gone,
    async () => gone(),
    () => {
      throw gone();
    },
  ]) {
    const { statuses, answers, leasehold } = await asked(authorize);
    expect(statuses).toEqual([419, 419]);
    expect(await answers[0]?.text()).toBe("log in first");
    expect(leasehold.toldOf("error")).toEqual([]);
  }
});

test("an admin may have an owner, whose its own jobs are", async () => {
  const { ask } = routes(db.database, { authorize: () => ({ admin: true, owner: "root" }) });
  expect((await ask(`/jobs/${id}`)).status).toBe(200);
  expect((await ask("/jobs/assess", { json: { address: "Elm 3" } })).status).toBe(202);
  expect((await jobsOf(db)).map((job) => job.owner)).toEqual([null, "root"]);
});

test("http() refuses what can't work, by name", () => {
  const leasehold = createLeasehold({ database: db.database });
  const good = { leasehold, jobs: [assess], authorize: () => null };
  const refused = (changed: object) => () => http({ ...good, ...changed });
  expect(refused({})).not.toThrow();
  expect(() => http({ leasehold, jobs: [assess] } as never)).toThrow(/authorize is undefined/);
  expect(refused({ autorize: () => null })).toThrow(/no option "autorize".*authorize/);
  expect(refused({ leasehold: {} })).toThrow(/leasehold is /);
  expect(refused({ jobs: [assess, { job: assess }] })).toThrow(/each kind once/);
  expect(refused({ jobs: [{ job: "assess" }] })).toThrow(/jobs is /);
  expect(refused({ jobs: [{ job: assess, option: () => ({}) }] })).toThrow(/no option "option"/);
  expect(refused({ jobs: "assess" })).toThrow(/jobs is "assess"/);
  expect(refused({ drain: { budget: "4m", maxJob: 3 } })).toThrow(/no option "maxJob"/);
  expect(refused({ maxBodyBytes: "1mb" })).toThrow(/maxBodyBytes is "1mb"/);
  expect(refused({ keepAlive: true })).toThrow(/keepAlive is true/);
  for (const basePath of ["api", "/a//b", "/a/:id", "/*", "/a?b", "/%ff", 5]) {
    expect(refused({ basePath }), String(basePath)).toThrow(/basePath is /);
  }
  for (const origin of ["app.example", "https://app.example/", "*", "null", 5]) {
    expect(refused({ trustedOrigins: [origin] }), String(origin)).toThrow(/trustedOrigins is /);
  }
});
