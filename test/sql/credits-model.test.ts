import fc from "fast-check";
import { expect, test } from "vitest";
import { json, useDatabase as openDatabase } from "./support/calls.ts";

const { call, query, rows, job, age } = openDatabase("postgres");

/** What a job is expected to be. */
interface Modelled {
  id: string;
  key: string | null;
  account: string;
  cost: number;
  status: string;
  money: string | null;
  generation: number;
  refunded: number;
}

const accounts = ["ann", "bob"] as const;
const finished = ["completed", "failed", "cancelled"];
const broken = { code: "X", message: "x" };

/** The books in a few lines: what each account has available, and the jobs. */
class Model {
  readonly available: Record<string, number> = { ann: 0, bob: 0 };
  readonly jobs: Modelled[] = [];
  readonly references = new Map<string, number>();

  held(account: string): number {
    const open = this.jobs.filter((each) => each.account === account && each.money === "held");
    return open.reduce((sum, each) => sum + each.cost, 0);
  }

  holder(key: string | null): Modelled | undefined {
    return this.jobs.find(
      (each) => key !== null && each.key === key && !finished.includes(each.status),
    );
  }

  /** How an enqueue is decided: the key, then the money. */
  enter(asked: Asked): string {
    if (this.holder(asked.key)) return "conflict";
    if (asked.cost > (this.available[asked.account] ?? 0)) return "insufficient";
    this.add(asked.account, -asked.cost);
    return "created";
  }

  add(account: string, amount: number): void {
    this.available[account] = (this.available[account] ?? 0) + amount;
  }

  end(one: Modelled, status: string): void {
    one.status = status;
    if (one.money !== "held") return;
    one.money = status === "completed" ? "captured" : "given_back";
    if (status !== "completed") this.add(one.account, one.cost);
  }
}

interface Asked {
  key: string | null;
  account: string;
  cost: number;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  key: fc.constantFrom(null, "a", "b", "c"),
  account: fc.constantFrom(...accounts),
  cost: fc.integer({ min: 0, max: 4 }),
});
const place = fc.nat({ max: 30 });
const step = fc.oneof(
  fc.record({ act: fc.constant("enqueue" as const), asked }),
  fc.record({
    act: fc.constant("enqueue_many" as const),
    many: fc.array(asked, { minLength: 1, maxLength: 5 }),
  }),
  fc.record({
    act: fc.constant("grant" as const),
    account: fc.constantFrom(...accounts),
    amount: fc.integer({ min: 1, max: 6 }),
    reference: fc.constantFrom("r1", "r2", "r3", "r4", "r5"),
  }),
  fc.record({
    act: fc.constantFrom("claim", "complete", "fail", "cancel", "retry", "reap", "finish_many"),
    place,
  }),
  fc.record({ act: fc.constantFrom("cancel_many", "retry_many"), places: fc.array(place) }),
  fc.record({
    act: fc.constant("refund" as const),
    place,
    amount: fc.integer({ min: 1, max: 3 }),
    reference: fc.constantFrom("x", "y"),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What a call answers, of which the model knows the outcome. */
const outcomeOf = (answer: { outcome: string }) => answer.outcome;

async function enqueueAll(model: Model, many: Asked[]): Promise<void> {
  const jobs = many.map((each) => ({ kind: "k", max_attempts: 1, ...each }));
  const answers =
    many.length === 1
      ? [await call("enqueue", "k", "{}", { max_attempts: 1, ...many[0] })]
      : await call("enqueue_many", json(jobs));
  for (const [index, each] of many.entries()) {
    const outcome = model.enter(each);
    expect(outcomeOf(answers[index])).toBe(outcome);
    if (outcome !== "created") continue;
    const money = each.cost > 0 ? "held" : null;
    const { id } = answers[index];
    model.jobs.push({ ...each, id, status: "queued", money, generation: 0, refunded: 0 });
  }
}

function canRetry(model: Model, one: Modelled): string {
  if (one.status !== "failed" && one.status !== "cancelled") return "wrong_status";
  if (model.holder(one.key)) return "conflict";
  return one.cost > (model.available[one.account] ?? 0) ? "insufficient" : "retried";
}

function retried(model: Model, one: Modelled): void {
  model.add(one.account, -one.cost);
  Object.assign(one, { status: "queued", money: one.cost > 0 ? "held" : null });
}

/** The calls about one job. */
const singles: Record<string, (model: Model, one: Modelled) => Promise<void>> = {
  async claim(_model, one) {
    const claimed = await rows("claim_job", one.id);
    expect(claimed.length).toBe(one.status === "queued" ? 1 : 0);
    if (one.status === "queued") {
      one.status = "running";
      one.generation++;
    }
  },
  async complete(model, one) {
    const answer = await call("complete", one.id, one.generation);
    expect(answer).toBe(one.status === "running" || one.status === "completed");
    if (one.status === "running") model.end(one, "completed");
  },
  async fail(model, one) {
    const answer = await call("fail", one.id, one.generation, broken, false);
    expect(answer).toBe(one.status === "running" ? "failed" : null);
    if (one.status === "running") model.end(one, "failed");
  },
  async cancel(model, one) {
    if (one.status === "running") return;
    const answer = await call("cancel", one.id);
    expect(outcomeOf(answer)).toBe(one.status === "queued" ? "cancelled" : "finished");
    if (one.status === "queued") model.end(one, "cancelled");
  },
  async retry(model, one) {
    const outcome = canRetry(model, one);
    expect(outcomeOf(await call("retry", one.id))).toBe(outcome);
    if (outcome === "retried") retried(model, one);
  },
  async reap(model, one) {
    await age(one.id, 400_000);
    expect(await call("reap")).toBe(one.status === "running" ? 1 : 0);
    if (one.status === "running") model.end(one, "failed");
  },
  async finish_many(model, one) {
    const fails = one.cost % 2 === 1;
    const outcome = fails
      ? { action: "fail", permanent: true, error: broken }
      : { action: "complete" };
    await call("finish_many", json([{ id: one.id, generation: one.generation, ...outcome }]));
    if (one.status === "running") model.end(one, fails ? "failed" : "completed");
  },
};

async function grant(model: Model, { account, amount, reference }: Step & { act: "grant" }) {
  const name = `${account} ${reference}`;
  const before = model.references.get(name);
  const answer = call("grant_credits", account, amount, reference);
  if (before !== undefined && before !== amount) {
    await expect(answer).rejects.toMatchObject({ code: "LH002" });
    return;
  }
  expect(outcomeOf(await answer)).toBe(before === undefined ? "granted" : "duplicate");
  if (before === undefined) model.add(account, amount);
  model.references.set(name, amount);
}

async function refund(model: Model, one: Modelled, amount: number, reference: string) {
  const name = `${one.id} ${reference}`;
  const before = model.references.get(name);
  const answer = call("refund", one.id, amount, reference);
  if (before !== undefined && before !== amount) {
    await expect(answer).rejects.toMatchObject({ code: "LH002" });
    return;
  }
  const fits = one.status === "completed" && one.refunded + amount <= one.cost;
  const outcome = before === undefined ? (fits ? "refunded" : "refused") : "duplicate";
  expect(outcomeOf(await answer)).toBe(outcome);
  if (outcome !== "refunded") return;
  model.references.set(name, amount);
  model.add(one.account, amount);
  one.refunded += amount;
  if (one.refunded === one.cost) one.money = "refunded";
}

async function bulk(model: Model, act: string, chosen: Modelled[]): Promise<void> {
  const ids = chosen.map(({ id }) => id);
  if (act === "cancel_many") {
    const queued = chosen.filter(({ status }) => status === "queued");
    const idle = chosen.filter(({ status }) => status !== "running");
    const answer = await call("cancel_many", { ids: idle.map(({ id }) => id) });
    expect(answer).toMatchObject({ cancelled: queued.length, requested: 0 });
    for (const one of queued) model.end(one, "cancelled");
    return;
  }
  const { skipped } = await call("retry_many", { ids });
  const left = new Set(skipped.map(({ id }: { id: string }) => id));
  for (const one of chosen) if (!left.has(one.id)) retried(model, one);
}

async function apply(model: Model, one: Step): Promise<void> {
  if (one.act === "enqueue") return enqueueAll(model, [one.asked]);
  if (one.act === "enqueue_many") return enqueueAll(model, one.many);
  if (one.act === "grant") return grant(model, one);
  const at = (index: number) => model.jobs[index % Math.max(model.jobs.length, 1)];
  if ("places" in one) {
    const chosen = [...new Set(one.places.map(at))].filter((each) => each !== undefined);
    return bulk(model, one.act, chosen);
  }
  const chosen = at(one.place);
  if (chosen === undefined) return;
  if (one.act === "refund") return refund(model, chosen, one.amount, one.reference);
  await singles[one.act]?.(model, chosen);
}

async function compare(model: Model): Promise<void> {
  expect(await call("verify_credits")).toEqual({ ok: true, violations: [] });
  for (const account of accounts) {
    const books = { account, available: model.available[account], held: model.held(account) };
    expect(await call("credits", account)).toEqual(books);
  }
  for (const one of model.jobs) {
    expect(await job(one.id)).toMatchObject({ status: one.status, money: one.money });
  }
}

test("random calls leave what a model of the accounts says, after each step", async () => {
  const end = performance.now() + 12_000;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 40, size: "max" }),
      async (steps) => {
        await query(
          "truncate leasehold.jobs, leasehold.accounts, leasehold.holds, leasehold.entries",
        );
        const model = new Model();
        for (const one of steps) {
          await apply(model, one);
          await compare(model);
        }
      },
    ),
    { numRuns: 60, interruptAfterTimeLimit: Math.max(1_000, end - performance.now()) },
  );
});
