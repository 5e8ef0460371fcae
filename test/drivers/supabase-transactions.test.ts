import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { client, counts, rowOf } from "../drain/support/client.ts";
import { untouchable } from "../drain/support/interposed.ts";
import { age } from "../support/ageing.ts";
import {
  clientOf,
  type SupabaseProject,
  startSupabaseProject,
} from "../support/supabase-project.ts";
import { thrown } from "./thrown.ts";

const sendInvoice = defineJob("send_invoice", { payload: z.object({ orderId: z.string() }) });

/** The SQL of one section of the page, as its readers copy it. */
function sqlOf(section: string): string {
  const [, text = ""] = readFileSync("docs/supabase.md", "utf8").split(`## ${section}\n`);
  const code = /^```sql\n([\s\S]*?)^```$/m.exec(text)?.[1];
  if (code === undefined) throw new Error(`docs/supabase.md has no SQL under "${section}"`);
  return code;
}

let project: SupabaseProject;
beforeAll(async () => {
  project = await startSupabaseProject();
  await project.query(sqlOf("Writes and a job in one transaction"));
  await project.query(sqlOf("Writes under the fence"));
});
beforeEach(async () => {
  await project.reset();
  await project.query("truncate public.orders, public.invoices");
});
afterAll(() => project?.close());

/** A client on which a user has signed in, as a browser has one. */
function userClient(sub: string) {
  const { keys, token } = project.postgrest;
  return clientOf(project.postgrest, keys.anon, { Authorization: `Bearer ${token({ sub })}` });
}

const ann = crypto.randomUUID();

async function placeOrder(item = "paper"): Promise<{ orderId: string; jobId: string }> {
  const { data } = await userClient(ann).rpc("place_order", { item }).throwOnError();
  return data;
}

const orders = () => project.query("select id, owner, item from public.orders");

describe("an SQL function of the user's, called by rpc", () => {
  test("writes and enqueues in one transaction", async () => {
    const { orderId, jobId } = await placeOrder();
    expect(await orders()).toEqual([{ id: orderId, owner: ann, item: "paper" }]);
    expect(await rowOf(project, jobId)).toMatchObject({
      ...{ kind: "send_invoice", key: orderId, owner: ann, status: "queued" },
      payload: { orderId },
    });
  });

  test("leaves nothing of either where it fails", async () => {
    const failures = [
      userClient(ann).rpc("place_order", { item: null }), // the write
      project.client().rpc("place_order", { item: "paper" }), // nobody has signed in
    ];
    for (const { error } of await Promise.all(failures)) expect(error).toBeTruthy();
    await project.query(
      `create function public.too_late() returns trigger language plpgsql as
         $f$ begin raise 'too late'; end $f$;
       create constraint trigger too_late after insert on public.orders initially deferred
         for each row execute function public.too_late()`,
    );
    // At the commit, when the job has been enqueued.
    expect((await userClient(ann).rpc("place_order", { item: "paper" })).error).toMatchObject({
      message: "too late",
    });
    await project.query("drop function public.too_late() cascade");
    expect([await orders(), await counts(project)]).toEqual([[], {}]);
  });

  test("hands leasehold's errors on, and its writes are gone with them", async () => {
    await project.query(
      "create function public.bad() returns void language plpgsql as $f$ begin " +
        "insert into public.orders (owner, item) values (gen_random_uuid(), 'x'); " +
        "perform leasehold.enqueue(''); end $f$",
    );
    const { error } = await project.client().rpc("bad");
    expect(error).toMatchObject({ code: "LH002", hint: expect.stringMatching(/./) });
    expect(await orders()).toEqual([]);
  });

  test("is for whom it was granted to: not for anon", async () => {
    const { error } = await project
      .client(project.postgrest.keys.anon)
      .rpc("place_order", { item: "paper" });
    expect(error).toMatchObject({ code: "42501" });
  });
});

describe("writes under the fence", () => {
  const save = (job: { id: string; generation: number }, order_id: string) =>
    project
      .client()
      .rpc("save_invoice", { job_id: job.id, generation: job.generation, order_id })
      .throwOnError();
  const invoices = () => project.query("select order_id from public.invoices");

  test("commit together with the end of the job, which then is completed once", async () => {
    const { orderId, jobId } = await placeOrder();
    const leasehold = client(
      project.database,
      handle(sendInvoice, async (job) => {
        await save(job, job.payload.orderId);
        return "not stored";
      }),
    );
    expect(await leasehold.drain()).toMatchObject({ completed: 1, lost: 0 });
    expect(await invoices()).toEqual([{ order_id: orderId }]);
    expect(await rowOf(project, jobId)).toMatchObject({
      status: "completed",
      result: { number: expect.any(Number) },
    });
  });

  test("survive a crash right behind them: the job does not run again", async () => {
    const { orderId, jobId } = await placeOrder();
    const [claimed] = (await project.database.call("claim", {
      p_kinds: ["send_invoice"],
    })) as { id: string; generation: number }[];
    if (claimed === undefined) throw new Error("nothing to claim");
    await save(claimed, orderId);
    await age(project, jobId, 301_000);
    const again = client(
      project.database,
      handle(sendInvoice, () => "again"),
    );
    expect(await again.drain()).toMatchObject({ processed: 0 });
  });

  test("are refused to a worker that came back too late (LH001)", async () => {
    const { orderId, jobId } = await placeOrder();
    const claim = () => project.database.call("claim", { p_kinds: ["send_invoice"] });
    const [stale] = (await claim()) as { id: string; generation: number }[];
    if (stale === undefined) throw new Error("nothing to claim");
    await age(project, jobId, 301_000);
    await claim();
    expect(await thrown(Promise.resolve(save(stale, orderId)))).toMatchObject({ code: "LH001" });
    expect(await invoices()).toEqual([]);
    expect(await rowOf(project, jobId)).toMatchObject({ status: "running", generation: 2 });
  });
});

describe("a transaction over rpc", () => {
  const named = /`perform leasehold\.enqueue\(.*by rpc.*docs\/supabase\.md/;

  test("is refused whatever is given as tx (LH104), and nothing is written", async () => {
    const leasehold = client(project.database);
    const session = await project.pool.connect();
    for (const tx of [session, project.client(), project.pool, null, 5, {}]) {
      const given = { tx: tx as never };
      const calls = [
        leasehold.enqueue(sendInvoice, { orderId: "o" }, given),
        leasehold.enqueueMany([{ job: sendInvoice, payload: { orderId: "o" } }], given),
      ];
      for (const error of await Promise.all(calls.map(thrown))) {
        expect(error).toMatchObject({ name: "DatabaseError", code: "LH104" });
        expect(error.hint).toMatch(named);
      }
    }
    session.release();
    expect(await counts(project)).toEqual({});
  });

  test("is not what a Supabase client is for any other database (LH107)", async () => {
    for (const database of [pg(project.pool), untouchable]) {
      const leasehold = createLeasehold({ database });
      for (const tx of [project.client(), project.client().schema("public")]) {
        const given = { tx: tx as never };
        const error = await thrown(leasehold.enqueue(sendInvoice, { orderId: "o" }, given));
        expect(error).toMatchObject({ name: "DatabaseError", code: "LH107" });
        expect(error.message).toMatch(/^tx is a Supabase client/);
        expect(error.hint).toMatch(named);
      }
    }
  });

  test("job.transaction rejects with the way in its place (LH104), and the job goes on", async () => {
    await placeOrder();
    let error: unknown;
    const leasehold = client(
      project.database,
      handle(sendInvoice, async (job) => {
        error = await thrown(job.transaction(() => undefined));
        return "without";
      }),
    );
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(error).toMatchObject({ name: "DatabaseError", code: "LH104" });
    expect(error).toMatchObject({
      hint: expect.stringMatching(
        /call leasehold\.guard and leasehold\.complete in an SQL function/,
      ),
    });
  });
});
