import { add, type Books, type Promised } from "../books.ts";
import { jobs } from "../jobs.ts";
import type { Dice } from "../random.ts";
import type { Scene } from "../scene.ts";
import { answered, once } from "../trouble.ts";

/** One who pays with credits: buys them, spends them, cancels, retries, and wants them back. */
export async function useCredits(scene: Scene, dice: Dice, user: string): Promise<void> {
  const mine = scene.books.promised.filter(({ kind, owner }) => kind === "paid" && owner === user);
  const one = mine.length === 0 ? undefined : dice.pick(mine.slice(-30));
  const draw = dice.between(1, 100);
  if (draw <= 12 || one === undefined) await grant(scene, dice, user);
  if (draw <= 60 || one === undefined) return spend(scene, dice, user);
  if (draw <= 70) return cancel(scene, one);
  if (draw <= 82) return retry(scene, one);
  if (draw <= 92) return refund(scene, dice, one);
  return look(scene, user);
}

async function grant({ books, leasehold }: Scene, dice: Dice, user: string): Promise<void> {
  const amount = dice.between(1, 12);
  const reference = books.tag(user);
  const ask = () => leasehold.grantCredits(user, amount, reference);
  await answered(books, user, ask);
  add(books.granted, user, amount);
  if (dice.chance(30)) await mustBeDuplicate(books, `grant ${reference}`, ask);
}

/** Paid under `once`: repeated until it is answered, and never paid twice. */
async function spend({ books, leasehold }: Scene, dice: Dice, user: string): Promise<void> {
  const tag = books.tag(user);
  const cost = dice.between(1, 3);
  const ms = dice.between(0, 1_500);
  const how = dice.chance(20) ? "permanent" : undefined;
  const failures = dice.chance(25) ? dice.between(1, 2) : 0;
  const payload = { tag, ms, failures, how };
  const given = { owner: user, cost, once: tag };
  const answer = await answered(books, user, () =>
    leasehold.enqueue(jobs.paid, payload as never, given),
  );
  if ("id" in answer && answer.id !== null) {
    books.promised.push({ tag, kind: "paid", id: answer.id, owner: user, delayMs: 0, cost });
  } else books.refused.push(tag);
}

async function cancel({ books, leasehold }: Scene, { id, owner }: Promised): Promise<void> {
  await once(books, "cancel", () => leasehold.cancel(id, { owner: owner ?? "" }));
}

async function retry({ books, leasehold }: Scene, { id, owner }: Promised): Promise<void> {
  books.retried.add(id);
  await once(books, "retry", () => leasehold.retry(id, { owner: owner ?? "" }));
}

/** The reference makes the repetition after a lost answer a `duplicate`: it was refunded, once. */
async function refund({ books, leasehold }: Scene, dice: Dice, job: Promised): Promise<void> {
  const amount = dice.pick([1, job.cost]);
  const reference = books.tag("refund");
  const ask = () => leasehold.refund(job.id, amount, reference);
  const { outcome } = await answered(books, "refund", ask);
  if (outcome === "refused") return;
  add(books.refunded, job.owner ?? "", amount);
  if (dice.chance(30)) await mustBeDuplicate(books, `refund ${reference}`, ask);
}

/** Asks again for what was granted or refunded under a reference: nothing may come of it. */
async function mustBeDuplicate(
  books: Books,
  what: string,
  ask: () => Promise<{ readonly outcome: string }>,
): Promise<void> {
  const { outcome } = await answered(books, what, ask);
  if (outcome !== "duplicate") {
    books.blame("every answer is one that was asked for", `${what} again: ${outcome}`);
  }
}

async function look({ books, leasehold }: Scene, user: string): Promise<void> {
  const credits = await once(books, user, () => leasehold.credits(user));
  if (credits && (credits.available < 0 || credits.held < 0)) {
    books.blame("no account is below zero", `${user}: ${JSON.stringify(credits)}`);
  }
}
