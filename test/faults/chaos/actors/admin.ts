import { setTimeout as pause } from "node:timers/promises";
import type { Dice } from "../random.ts";
import type { Scene } from "../scene.ts";
import { answered, once } from "../trouble.ts";

/** Kinds that the admin retries and cancels in bulk. */
const inBulk = ["refuse", "hang"] as const;

/** Who operates the queue, by SQL as from psql. */
export async function operate(scene: Scene, dice: Dice): Promise<void> {
  await dice.pick([retryMany, cancelMany, pauseAKind, prune, runNow, audit, look])(scene, dice);
}

/** One call of a function, over the actors' way. */
async function call(scene: Scene, text: string, values: unknown[]): Promise<unknown> {
  const { rows } = await scene.pool.query(`select leasehold.${text} as answer`, values);
  return rows[0].answer;
}

async function retryMany(scene: Scene, dice: Dice): Promise<void> {
  const { books } = scene;
  const kind = dice.pick(inBulk);
  const ids = books.promised.filter((job) => job.kind === kind).map(({ id }) => id);
  if (ids.length === 0) return;
  const some = ids.slice(-dice.between(1, 20));
  for (const id of some) books.retried.add(id);
  const filter = JSON.stringify({ ids: some, kind });
  await once(books, "retry_many", () => call(scene, "retry_many($1)", [filter]));
}

async function cancelMany(scene: Scene, dice: Dice): Promise<void> {
  const filter = JSON.stringify({ kind: dice.pick(inBulk), limit: 5 });
  await once(scene.books, "cancel_many", () => call(scene, "cancel_many($1)", [filter]));
}

/** Resumed in any case, or its jobs would never end. */
async function pauseAKind(scene: Scene, dice: Dice): Promise<void> {
  const { books } = scene;
  const kind = dice.pick(["write", "guarded", "store"]);
  await once(books, "pause", () => call(scene, "pause($1)", [kind]));
  await pause(dice.between(200, 1_500));
  await answered(books, "resume", () => call(scene, "resume($1)", [kind]));
}

/** With an age that nothing here has. */
async function prune(scene: Scene): Promise<void> {
  const options = JSON.stringify({ older_than_ms: 86_400_000 });
  const answer = await once(scene.books, "prune", () => call(scene, "prune($1)", [options]));
  const { deleted = 0 } = (answer ?? {}) as { deleted?: number };
  if (deleted > 0) scene.books.blame("prune takes nothing young", `${deleted} jobs`);
}

async function runNow(scene: Scene, dice: Dice): Promise<void> {
  const delayed = scene.books.promised.filter(({ delayMs }) => delayMs > 0);
  if (delayed.length === 0) return;
  const { id } = dice.pick(delayed.slice(-10));
  scene.books.hurried.add(id);
  await once(scene.books, "run_now", () => call(scene, "run_now($1)", [id]));
}

/** Status and money agree at every moment, not only in the end. */
async function audit(scene: Scene): Promise<void> {
  const { books, leasehold } = scene;
  const answer = await once(books, "verify_credits", () => leasehold.verifyCredits());
  if (answer === undefined) return;
  books.booksInOrder += 1;
  if (!answer.ok) books.blame("the books are in order while all runs", JSON.stringify(answer));
}

async function look(scene: Scene): Promise<void> {
  await once(scene.books, "stats", () => call(scene, "stats()", []));
  await once(scene.books, "workers", () => call(scene, "workers()", []));
}
