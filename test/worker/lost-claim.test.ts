import { describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { client, counts, eventsOf, rowOf, until } from "../drain/support/client.ts";
import { connectionLost, interposed } from "../drain/support/interposed.ts";
import { useDatabase } from "../sql/support/calls.ts";
import { backends } from "../support/databases.ts";

const job = defineJob("job", { lease: "1h" });

describe.each(backends)("a claim whose answer was lost on %s", (backend) => {
  const fixture = useDatabase(backend);

  test("costs its jobs neither their lease nor an attempt, and no other worker its jobs", async () => {
    const { db } = fixture;
    const [held] = await hold();
    // The claim is committed, and the connection breaks before its answer arrives.
    const database = interposed(db.database, async (call) => {
      const answer = await call.go();
      if (call.name === "claim" && call.nth === 1) throw connectionLost();
      return answer;
    });
    const leasehold = client(
      database,
      handle(job, () => "done"),
    );
    for (let i = 0; i < 3; i += 1) await leasehold.enqueue(job);
    const worker = leasehold.work({ concurrency: 2, worker: "mine" });
    await until(async () => (await counts(db)).completed === 3, "all three completed");
    await worker.stop();

    const rows = await db.query(
      "select id, attempts, generation, releases from leasehold.jobs where status = 'completed' order by id",
    );
    const again = { attempts: 1, generation: 2, releases: 1 };
    expect(rows).toMatchObject([again, again, { attempts: 1, generation: 1, releases: 0 }]);
    expect(await eventsOf(db, String(rows[0]?.id))).toMatchObject([
      { event: "released", generation: 1, code: "CLAIM_LOST" },
    ]);
    expect(await rowOf(db, String(held?.id))).toMatchObject({ status: "running", generation: 1 });
  });

  test("is not mistaken for a job whose outcome was refused: its lease brings that one back", async () => {
    const { db } = fixture;
    const refused = Object.assign(new Error("a trigger of the application"), { code: "P0001" });
    const known: unknown[] = [];
    const database = interposed(db.database, async (call) => {
      if (call.name === "finish_many" || call.name === "finish_and_claim") throw refused;
      if (call.name === "claim" && call.nth === 2) throw connectionLost();
      if (call.name === "worker_recover") known.push(call.args.p_known);
      return call.go();
    });
    const leasehold = client(
      database,
      handle(job, () => "done"),
    );
    const answer = await leasehold.enqueue(job);
    const id = "id" in answer ? String(answer.id) : "";
    const worker = leasehold.work({ concurrency: 1 });
    await until(() => known.length > 0, "a recovery");
    await worker.stop();
    expect(known[0]).toEqual([id]);
    expect(await rowOf(db, id)).toMatchObject({ status: "running", releases: 0, attempts: 1 });
  });

  test("beside outcomes costs neither these nor what it took anything", async () => {
    const { db } = fixture;
    const database = interposed(db.database, async (call) => {
      const answer = await call.go();
      if (call.name === "finish_and_claim" && call.nth === 1) throw connectionLost();
      return answer;
    });
    const ran: string[] = [];
    const leasehold = client(
      database,
      handle(job, ({ id }) => void ran.push(id)),
    );
    const ids: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      const answer = await leasehold.enqueue(job);
      if ("id" in answer) ids.push(String(answer.id));
    }
    const worker = leasehold.work({ concurrency: 2, worker: "mine" });
    await until(async () => (await counts(db)).completed === 4, "all four completed");
    await worker.stop();
    expect(ran).toEqual(ids);
    const rows = await db.query("select attempts, releases from leasehold.jobs order by id");
    const straight = { attempts: 1, releases: 0 };
    expect(rows).toMatchObject([straight, straight, { releases: 1 }, { releases: 1 }]);
    expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1]);
    expect(leasehold.toldOf("lost")).toEqual([]);
  });

  /** A job in the hand of another worker of the same kind. */
  async function hold(): Promise<{ id: string }[]> {
    await fixture.db.database.call("enqueue", { p_kind: "job" });
    const claimed = await fixture.db.database.call("claim", { p_kinds: ["job"], p_worker: "mine" });
    return claimed as { id: string }[];
  }
});
