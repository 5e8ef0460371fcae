import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const trace_context = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
const newer = { traceparent: "00-11111111111111111111111111111111-2222222222222222-01" };

describe.each(backends)("a trace context on %s", (backend) => {
  const { call, rows, enqueue, put, running, job } = useDatabase(backend);

  test("is kept with the job, and every claim hands it out", async () => {
    const id = await enqueue({ trace_context });
    expect(await rows("claim", ["k"], 1, 60_000)).toMatchObject([{ id, trace_context }]);
    await call("release", id, 1, 0);
    expect(await rows("claim_job", id, 60_000)).toMatchObject([{ trace_context }]);
    await call("release", id, 2, 0);
    const [, next] = await rows("finish_and_claim", null, null, null, null, ["k"], 1);
    expect(next).toMatchObject({ id, trace_context });
    expect(await call("inspect", id)).toMatchObject({ trace_context });
  });

  test("of a bulk call is each job's own", async () => {
    const [second, first] = await put({ trace_context }, {});
    expect(await job(first ?? "")).toMatchObject({ trace_context });
    expect(await job(second ?? "")).toMatchObject({ trace_context: null });
  });

  test("of a newer payload takes the place of the older one's", async () => {
    const id = await enqueue({ key: "a", trace_context });
    const replace = { key: "a", on_conflict: "replace", trace_context: newer };
    await call("enqueue", "k", json({ v: 2 }), json(replace));
    expect(await job(id)).toMatchObject({ trace_context: newer });

    const again = await running({ key: "b", trace_context });
    await call("enqueue", "k", json({}), json({ key: "b", on_conflict: "rerun" }));
    await call("complete", again, 1);
    expect(await rows("claim_job", again, 60_000)).toMatchObject([{ trace_context: null }]);
  });

  test("stays through failure and retry", async () => {
    const id = await running({ trace_context });
    await call("fail", id, 1, json({ code: "E" }), true);
    await call("retry", id);
    expect(await rows("claim_job", id, 60_000)).toMatchObject([{ trace_context }]);
  });

  test.each(["1", "[]", '{"a": 1}', `{"a": "${"x".repeat(8_192)}"}`])(
    "is not %.20s",
    async (bad) => {
      await expect(call("enqueue", "k", "{}", `{"trace_context": ${bad}}`)).rejects.toMatchObject({
        code: "LH002",
        message: expect.stringMatching(/^trace_context is /),
        hint: expect.stringContaining("an object of texts"),
      });
    },
  );
});
