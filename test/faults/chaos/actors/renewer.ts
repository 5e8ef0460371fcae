import { setTimeout as pause } from "node:timers/promises";
import { jobs } from "../jobs.ts";
import type { Dice } from "../random.ts";
import type { Scene } from "../scene.ts";
import { once } from "../trouble.ts";

/**
 * Has a key done again and again with what is newest: a queued job gets the new payload, a running one
 * runs again with it. It waits for each answer before the next call, so that the order is known.
 */
export async function renew(scene: Scene, dice: Dice, name: string): Promise<void> {
  const key = `${name} key ${dice.between(1, 12)}`;
  await enqueue(scene, dice, name, key);
  await pause(dice.between(100, 700)); // by then it runs, mostly
  await enqueue(scene, dice, name, key);
}

async function enqueue({ books, leasehold }: Scene, dice: Dice, name: string, key: string) {
  const tag = books.tag(name);
  const ms = dice.between(300, 1_500);
  const given = { key, onConflict: dice.pick(["rerun", "rerun", "replace"] as const) };
  const answer = await once(books, name, () =>
    leasehold.enqueue(jobs.renew, { tag, ms } as never, given),
  );
  if (answer?.outcome === "conflict") {
    books.refused.push(tag);
    return;
  }
  const renewals = books.renewals.get(key) ?? [];
  renewals.push({ tag, id: answer !== undefined && "id" in answer ? answer.id : null });
  books.renewals.set(key, renewals);
}
