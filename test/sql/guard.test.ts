import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("guard on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, changes, events, age, session } = fixture;
  const stale = (id: string | null, generation: number | null) => ({
    code: "LH001",
    message: `the claim on job ${id ?? ""} under generation ${generation ?? ""} is not valid any more`,
    hint: expect.stringContaining("roll back"),
  });

  test("lets a valid claim pass, and changes nothing", async () => {
    const id = await running();
    const { answer, changed } = await changes(id, () => call("guard", id, 1));
    expect([answer === "" || answer === null, changed]).toEqual([true, {}]);
    expect(await events(id)).toEqual([]);
  });

  test("lets a claim pass whose lease ran out, as long as nobody reaped", async () => {
    const id = await running({}, 1000);
    await age(id, 5000);
    await call("guard", id, 1);
    await call("reap");
    await expect(call("guard", id, 1)).rejects.toMatchObject(stale(id, 1));
  });

  test("raises LH001 for any claim that is not valid", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    await rows("claim_job", id);
    for (const generation of [1, 0, 3]) {
      await expect(call("guard", id, generation)).rejects.toMatchObject(stale(id, generation));
    }
    await call("complete", id, 2);
    await expect(call("guard", id, 2)).rejects.toMatchObject(stale(id, 2));
    const queued = await enqueue();
    await expect(call("guard", queued, 0)).rejects.toMatchObject(stale(queued, 0));
    await expect(call("guard", null, null)).rejects.toMatchObject({ code: "LH001" });
    const unknown = "00000000-0000-7000-8000-000000000000";
    await expect(call("guard", unknown, 1)).rejects.toMatchObject(stale(unknown, 1));
  });

  test("the user's writes and the completion commit together, or not at all", async () => {
    const [mine, lost] = [await running(), await running()];
    await call("release", lost, 1);
    await session(async (own) => {
      await own.query("create table if not exists public.paid (job uuid)");
      await own.query("begin");
      await own.call("guard", mine, 1);
      await own.query("insert into public.paid values ($1)", [mine]);
      await own.call("complete", mine, 1);
      await own.query("commit");
      await own.query("begin");
      await own.query("insert into public.paid values ($1)", [lost]);
      await expect(own.call("guard", lost, 1)).rejects.toMatchObject({ code: "LH001" });
      await own.query("rollback");
      expect(await own.query("select job from public.paid")).toEqual([{ job: mine }]);
      await own.query("drop table public.paid");
    });
    expect(await call("status", mine)).toMatchObject({ status: "completed" });
  });

  describe("the transaction's idle timeout", () => {
    const setting = "current_setting('idle_in_transaction_session_timeout')";

    test.each([
      ["0", 60_000, "1min"],
      ["2min", 60_000, "1min"],
      ["1500ms", 60_000, "1500ms"],
      ["1h", 500, "500ms"],
      ["60s", 60_000, "1min"],
      ["1d", 90_000, "90s"],
    ])("that was %s is, with a lease of %i ms, %s", async (before, leaseMs, after) => {
      const id = await running({}, leaseMs);
      await session(async (own) => {
        await own.query(`set idle_in_transaction_session_timeout = '${before}'`);
        const usual = await own.value(`select ${setting}`);
        await own.query("begin");
        await own.call("guard", id, 1);
        expect(await own.value(`select ${setting}`)).toBe(backend === "postgres" ? after : usual);
        await own.query("commit");
        expect(await own.value(`select ${setting}`)).toBe(usual);
      });
    });

    test("is not lengthened by a second guard, and shortened by a shorter lease", async () => {
      const [long, short] = [await running({}, 90_000), await running({}, 5000)];
      await session(async (own) => {
        await own.query("begin");
        await own.call("guard", short, 1);
        await own.call("guard", long, 1);
        const timeout = await own.value(`select ${setting}`);
        expect(timeout).toBe(backend === "postgres" ? "5s" : "0");
        await own.query("rollback");
      });
    });

    test.runIf(backend === "postgres")("frees the job of a holder that freezes", async () => {
      const id = await running({}, 50);
      await session(async (own) => {
        await own.query("begin");
        await own.call("guard", id, 1);
        // The row is locked until the server ends the frozen session.
        expect(await call("complete", id, 1)).toBe(true);
        await expect(own.query("commit")).rejects.toThrow();
      });
    });
  });

  test.runIf(backend === "postgres")(
    "holds the job against reap and claim until the commit",
    async () => {
      const id = await running({}, 1000);
      await age(id, 2000);
      await session(async (own) => {
        await own.query("begin");
        await own.call("guard", id, 1);
        const { changed } = await changes(id, async () => {
          expect(await call("reap")).toBe(0);
          expect(await rows("claim", ["k"])).toEqual([]);
          expect(await rows("claim_job", id)).toEqual([]);
          expect(await call("status", id)).toMatchObject({ status: "running" });
        });
        expect(changed).toEqual({});
        await own.call("complete", id, 1);
        await own.query("commit");
      });
      expect(await call("reap")).toBe(0);
      expect(await call("status", id)).toMatchObject({ status: "completed" });
    },
  );

  test.runIf(backend === "postgres")("a foreign key to jobs hides no job from claim", async () => {
    const id = await enqueue();
    await session(async (own) => {
      await own.query("create table public.mine (job uuid references leasehold.jobs)");
      await own.query("begin");
      await own.query("insert into public.mine values ($1)", [id]);
      expect(await rows("claim", ["k"])).toMatchObject([{ id }]);
      await own.query("rollback");
      await own.query("drop table public.mine");
    });
  });
});
