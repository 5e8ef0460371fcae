import type { EnqueueAnswer, EnqueueOptions, JobDefinition, TransactionHandle } from "leasehold";
import type { Books, Promised } from "../books.ts";
import { charging, jobs, type Kind, type Task } from "../jobs.ts";
import type { Dice } from "../random.ts";
import { rubbishNames } from "../rubbish.ts";
import type { Scene } from "../scene.ts";
import { answered, once } from "../trouble.ts";

/** Producers only enqueue: the ledger is asked by the crew. */
const charge = charging({ lookup: () => "none" });
const definitions: Readonly<Record<Kind, JobDefinition>> = { ...jobs, charge };

/** One in so many; what costs a worker seconds is rare. */
const shares: readonly [Kind, number][] = [
  ["write", 30],
  ["guarded", 14],
  ["steps", 12],
  ["charge", 10],
  ["store", 10],
  ["single", 8],
  ["release", 5],
  ["rubbish", 5],
  ["refuse", 3],
  ["hang", 2],
  ["block", 1],
  ["late", 1],
];
const drawn = shares.flatMap(([kind, share]) => Array.from({ length: share }, () => kind));

const asAsked = "every answer is one that was asked for";

interface Order {
  readonly kind: Kind;
  readonly payload: Task;
  readonly options: EnqueueOptions;
  readonly delayMs: number;
}

/** Enqueues a job, several, or one beside a row of its own in a transaction. */
export async function produce(scene: Scene, dice: Dice, name: string): Promise<void> {
  const draw = dice.between(1, 10);
  if (draw <= 6) await alone(scene, dice, name);
  else if (draw <= 8) await several(scene, dice, name);
  else await withOwnRow(scene, dice, name);
}

/** Under `once` it is repeated until it is answered; without, its answer may be lost for good. */
async function alone({ books, leasehold }: Scene, dice: Dice, name: string): Promise<void> {
  const order = draw(books, dice, name);
  const { kind, payload, options } = order;
  const call = (more: object) => () =>
    leasehold.enqueue(definitions[kind], payload as never, { ...options, ...more });
  if (dice.chance(50)) {
    const ask = call({ once: payload.tag });
    const first = await answered(books, name, ask);
    record(books, order, first);
    if ("id" in first && dice.chance(20)) {
      mustBeDuplicate(books, first.id, await answered(books, name, ask));
    }
    return;
  }
  const answer = await once(books, name, call({}));
  if (answer === undefined) books.unknown.push(payload.tag);
  else record(books, order, answer);
}

async function several({ books, leasehold }: Scene, dice: Dice, name: string): Promise<void> {
  const orders = Array.from({ length: dice.between(2, 8) }, () => draw(books, dice, name));
  const items = orders.map(({ kind, payload, options }) => ({
    ...options,
    job: definitions[kind],
    payload: payload as never,
  }));
  const answers = await once(books, name, () => leasehold.enqueueMany(items));
  for (const [i, order] of orders.entries()) {
    const answer = answers?.[i];
    if (answer === undefined) books.unknown.push(order.payload.tag);
    else record(books, order, answer);
  }
}

/** The row and the job commit together, or neither is there. */
async function withOwnRow({ books, leasehold, pool }: Scene, dice: Dice, name: string) {
  const order = draw(books, dice, name);
  const { kind, payload, options } = order;
  const rollsBack = dice.chance(15);
  const answer = await once(books, name, async () => {
    const client = await pool.connect();
    let broken = true;
    try {
      await client.query("begin");
      const tx = client as unknown as TransactionHandle;
      const given = { ...options, tx };
      const enqueued = await leasehold.enqueue(definitions[kind], payload as never, given);
      if (enqueued.outcome === "created") {
        await client.query("insert into app.orders (tag) values ($1)", [payload.tag]);
      }
      await client.query(rollsBack ? "rollback" : "commit");
      broken = false;
      return enqueued;
    } finally {
      client.release(broken);
    }
  });
  if (rollsBack) books.refused.push(payload.tag);
  else if (answer === undefined) books.unknown.push(payload.tag);
  else record(books, order, answer);
}

/** What is enqueued again under the same `once`. */
function mustBeDuplicate(books: Books, id: string, answer: EnqueueAnswer): void {
  if (answer.outcome === "duplicate" && answer.id === id) return;
  books.blame(asAsked, `${id} again: ${JSON.stringify(answer)}`);
}

function record(books: Books, { kind, payload, options, delayMs }: Order, answer: EnqueueAnswer) {
  const { tag } = payload;
  if (answer.outcome === "conflict" || answer.outcome === "insufficient") {
    books.refused.push(tag);
    return;
  }
  const promise: Promised = {
    tag,
    kind,
    id: answer.id,
    owner: options.owner ?? null,
    delayMs,
    cost: 0,
  };
  books.promised.push(promise);
  if (answer.outcome !== "created" && answer.outcome !== "duplicate") {
    books.blame(asAsked, `${tag}: ${JSON.stringify(answer)}`);
  }
}

function draw(books: Books, dice: Dice, name: string): Order {
  const kind = dice.pick(drawn);
  const delayMs = dice.chance(25) ? dice.between(100, 5_000) : 0;
  const options: EnqueueOptions = {
    ...(dice.chance(50) && { owner: `owner ${dice.between(1, 4)}` }),
    ...(dice.chance(25) && { priority: dice.between(-3, 3) }),
    ...(delayMs > 0 && { delay: delayMs }),
    ...(kind === "single" && { key: `key ${dice.between(1, 6)}`, owner: null }),
  };
  const payload: Task = {
    tag: books.tag(name),
    ms: dice.chance(40) ? dice.between(200, 2_500) : dice.between(0, 30),
    ...(dice.chance(20) && { failures: dice.between(1, 3) }),
    ...howOf(kind, dice),
  };
  return { kind, payload, options, delayMs };
}

function howOf(kind: Kind, dice: Dice): { how?: string } {
  switch (kind) {
    case "rubbish":
      return { how: dice.pick(rubbishNames) };
    case "hang":
      return { how: dice.pick(["obeys", "ignores"]) };
    case "charge":
      return dice.chance(30) ? { how: dice.pick(["permanent before", "permanent after"]) } : {};
    case "write":
      return dice.chance(5) ? { how: "permanent" } : {};
    default:
      return {};
  }
}
