import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { type Row, useDatabase } from "./support/calls.ts";

describe.each(backends)("the generation of a job on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, running, job, age } = fixture;

  /** What can happen to a job, with the generation of its last claim. */
  const steps: Record<string, (id: string, generation: number) => Promise<unknown>> = {
    claim: (id) => rows("claim_job", id, 1000),
    fail: (id, generation) => call("fail", id, generation, {}, false, 0),
    failNow: (id, generation) => call("fail", id, generation, {}, true),
    release: (id, generation) => call("release", id, generation),
    complete: (id, generation) => call("complete", id, generation),
    finish: (id, generation) =>
      call("finish_many", JSON.stringify([{ id, generation, action: "complete" }])),
    reap: async (id) => {
      await age(id, 3_600_000);
      await call("reap");
    },
    cancel: (id) => call("cancel", id),
    retry: (id) => call("retry", id),
    retryMany: (id) => call("retry_many", { ids: [id] }),
    rerun: () => call("enqueue", "k", "{}", { key: "a", on_conflict: "rerun" }),
    replace: () => call("enqueue", "k", "{}", { key: "a", on_conflict: "replace" }),
    runNow: (id) => call("run_now", id),
  };

  test.each([
    "fail claim fail claim fail claim fail claim fail",
    "release claim release claim complete",
    "reap claim reap claim reap claim reap claim reap retry claim complete",
    "failNow retry claim failNow retry claim complete",
    "cancel fail retry claim cancel reap retryMany claim complete",
    "release cancel retry claim complete",
    "rerun complete claim rerun fail claim rerun reap claim rerun release claim complete",
    "rerun finish claim rerun failNow claim finish",
    "rerun cancel complete",
    "release replace claim fail replace runNow claim complete",
    "rerun complete cancel retry claim rerun complete replace claim complete",
  ])("never falls, and grows by one at each claim alone: %s", async (sequence) => {
    const id = await running({ key: "a" }, 1000);
    let before: Row = await job(id);
    for (const name of sequence.split(" ")) {
      await steps[name]?.(id, before.generation);
      const after = await job(id);
      const claims = name === "claim" ? 1 : 0;
      expect(after.generation, `${name} in ${sequence}`).toBe(before.generation + claims);
      if (claims === 1) expect(after.status, name).toBe("running");
      await refuseOlder(id, after);
      before = after;
    }
  });

  /** No write under an older generation changes the row. */
  async function refuseOlder(id: string, row: Row): Promise<void> {
    const stale = row.generation - 1;
    expect(await call("fail", id, stale, {}, true)).toBeNull();
    expect(await call("release", id, stale)).toBe(false);
    expect(await call("complete", id, stale)).toBe(false);
    expect(await call("extend", id, stale)).toMatchObject({ held: false });
    await expect(call("guard", id, stale)).rejects.toMatchObject({ code: "LH001" });
    expect(await job(id)).toEqual(row);
  }
});
