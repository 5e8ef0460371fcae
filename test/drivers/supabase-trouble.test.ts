import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Database, defineJob, handle, type Leasehold } from "../../src/index.ts";
import { supabase } from "../../src/supabase/index.ts";
import { client, counts, recorded, rowOf, until } from "../drain/support/client.ts";
import { routes, unknownId } from "../http/support/routes.ts";
import { ageAll } from "../support/ageing.ts";
import type { PassingCall, Trouble } from "../support/postgrest.ts";
import { type SupabaseProject, startSupabaseProject } from "../support/supabase-project.ts";
import { keptLog } from "../worker/support/log.ts";

const job = defineJob("job", { backoff: [0] });

let project: SupabaseProject;
const opened: Leasehold[] = [];
beforeAll(async () => {
  project = await startSupabaseProject();
  await project.query("create table public.results (id uuid primary key, generation int)");
});
beforeEach(async () => {
  await project.reset();
  await project.query("truncate public.results");
});
afterEach(async () => {
  project.postgrest.trouble = () => undefined;
  await Promise.all(opened.splice(0).map((each) => each.close()));
});
afterAll(() => project?.close());

/** Patient with all calls but those that record an outcome. */
function hasty(): Database {
  const [patient, impatient] = [supabase(project.client()), within("150ms")];
  const call: Database["call"] = (name, args) =>
    (name === "finish_many" ? impatient : patient).call(name, args);
  return { ...patient, call };
}

const within = (timeout: string) => supabase(project.client(), { timeout });

/** Writes its result to a target fixed in advance, as a handler that may run twice should. */
const upserting = handle(job, async ({ id, generation }) => {
  await project.query(
    `insert into public.results values ($1, $2)
     on conflict (id) do update set generation = excluded.generation`,
    [id, generation],
  );
  return { generation };
});

/** The trouble that the recording of an outcome meets, and nothing else. */
const atRecording =
  (trouble: Trouble) =>
  ({ name }: PassingCall) =>
    name === "finish_many" ? trouble : undefined;

const page = { status: 502, body: "<html><title>502 Bad Gateway</title></html>" };

describe("trouble on the way, in the middle of a drain", () => {
  test.each<[string, Trouble, RegExp]>([
    ["a gateway that answers 502", page, /^HTTP_502$/],
    ["a connection that breaks", "dropped", /^(ECONNRESET|UND_ERR_SOCKET)$/],
    ["a call that hangs", "hangs", /^ERROR$/],
  ])(
    "%s leaves the job to its lease, which brings it back: one result",
    async (_name, trouble, code) => {
      const leasehold = client(hasty(), upserting);
      const answer = await leasehold.enqueue(job);
      const id = "id" in answer ? answer.id : "";
      project.postgrest.trouble = atRecording(trouble);
      const report = await leasehold.drain({ budget: 1_500, reserve: 0, maxJobs: 1 });
      expect(report).toMatchObject({ unrecorded: 1, completed: 0 });
      expect(report.jobs[0]).toMatchObject({ id, outcome: "unrecorded" });
      expect(report.jobs[0]?.code).toMatch(code);
      expect(await rowOf(project, id)).toMatchObject({ status: "running", generation: 1 });
      expect(
        project.postgrest.calls.filter((name) => name === "finish_many").length,
      ).toBeGreaterThan(1);

      project.postgrest.trouble = () => undefined;
      await ageAll(project, "jobs", 301_000);
      expect(await leasehold.drain()).toMatchObject({ completed: 1 });
      expect(await rowOf(project, id)).toMatchObject({ status: "completed", generation: 2 });
      expect(await project.query("select * from public.results")).toEqual([{ id, generation: 2 }]);
    },
  );

  test("an answer that gets lost is recognized: the outcome was recorded", async () => {
    const leasehold = client(hasty(), upserting);
    const answer = await leasehold.enqueue(job);
    project.postgrest.trouble = ({ name, nth }) =>
      name === "finish_many" && nth === 1 ? "answer dropped" : undefined;
    expect(await leasehold.drain()).toMatchObject({ completed: 1, lost: 0, unrecorded: 0 });
    const row = await rowOf(project, "id" in answer ? answer.id : "");
    expect(row).toMatchObject({ status: "completed", generation: 1 });
  });

  test("a key that is not taken any more ends the tries, and the drain", async () => {
    const leasehold = client(hasty(), upserting);
    await leasehold.enqueueMany([{ job }, { job }]);
    project.postgrest.trouble = ({ name }) =>
      name === "finish_many" ? { status: 401, body: '{"message":"Invalid API key"}' } : undefined;
    const report = await leasehold.drain({ maxJobs: 1 });
    expect(report.jobs[0]).toMatchObject({ outcome: "unrecorded", code: "LH111" });
    expect(project.postgrest.calls.filter((name) => name === "finish_many")).toHaveLength(4);
  });
});

test("a worker survives an outage, told once, and ends every job", {
  timeout: 180_000,
}, async () => {
  const log = keptLog();
  const leasehold = recorded({
    database: within("1s"),
    handlers: [upserting],
    logger: log,
    housekeeping: false,
  });
  opened.push(leasehold);
  const worker = leasehold.work({ concurrency: 3, poll: 100, signals: false });
  await leasehold.enqueueMany(Array.from({ length: 10 }, () => ({ job, maxAttempts: 50 })));
  await until(async () => ((await counts(project)).completed ?? 0) > 2, "jobs under way");

  const troubles: Trouble[] = [page, "dropped", "hangs", "answer dropped"];
  let met = 0;
  project.postgrest.trouble = () => troubles[met++ % troubles.length];
  await leasehold.database.call("reap", {}).catch(() => undefined);
  await until(() => worker.health().error, "the outage");
  // It asks more and more seldom, and a call that hangs takes its time.
  await until(() => met > 8, "every trouble, twice", 60_000);
  expect(worker.health().ready).toBe(false);

  project.postgrest.trouble = () => undefined;
  await leasehold.enqueueMany(Array.from({ length: 10 }, () => ({ job })));
  await until(async () => (await counts(project)).completed === 20, "all completed", 60_000);
  await until(() => worker.health().ready, "all well");
  expect(log.warned.filter((text) => /can't be asked/.test(text))).toHaveLength(1);
  expect((await project.query("select * from public.results")).length).toBe(20);
  await worker.stop();
});

describe("HTTP", () => {
  const mill = { user: "ann", json: { address: "Mill Lane 1" } };

  test.each<[string, Trouble]>([
    ["a gateway's 502", page],
    ["a broken connection", "dropped"],
    ["a call that takes too long", "hangs"],
    ["PGRST002", { status: 503, body: '{"code":"PGRST002","message":"m","details":null}' }],
    ["a statement that was ended", { status: 500, body: '{"code":"57014","message":"canceling"}' }],
  ])("answers 503 for %s, and not in its words", async (_name, trouble) => {
    project.postgrest.trouble = () => trouble;
    const { ask } = routes(within(trouble === "hangs" ? "100ms" : "30s"));
    const asked = [ask("/jobs/assess", mill), ask(`/jobs/${unknownId}`, { user: "ann" })];
    for (const answer of await Promise.all(asked)) {
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await answer.text()).not.toMatch(/gateway|fetch|PGRST|Supabase|cancel/i);
    }
    project.postgrest.trouble = () => undefined;
    const again = await routes(project.database).ask("/jobs/assess", mill);
    expect(again.status).toBe(202);
  });

  test("answers 500 where something is to be set right, and tells only the operator what", async () => {
    const { ask, leasehold } = routes(supabase(project.client(project.postgrest.keys.anon)));
    const answer = await ask("/jobs/assess", mill);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toMatch(/key|permission|service_role/);
    expect(leasehold.toldOf("error")).toMatchObject([{ error: { code: "LH111" } }]);
  });
});
