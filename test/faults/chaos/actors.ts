import { setTimeout as pause } from "node:timers/promises";
import { operate } from "./actors/admin.ts";
import { Poller } from "./actors/poller.ts";
import { produce } from "./actors/producer.ts";
import { renew } from "./actors/renewer.ts";
import { useCredits } from "./actors/user.ts";
import { type Dice, dice } from "./random.ts";
import type { Scene } from "./scene.ts";

/** More unfinished jobs than this, and producers wait: what is left at the end must drain soon. */
const enough = 250;

/**
 * Lets all actors act until the signal aborts, and waits until the last call of each is answered: what
 * may be repeated is repeated until then.
 */
export async function act(scene: Scene, seed: number, signal: AbortSignal): Promise<void> {
  const actor = (name: string, paceMs: number, turn: (dice: Dice) => Promise<void>) =>
    turns(dice(seed, name), paceMs, turn, signal);
  const queue = new Backlog(scene);
  const producers = [1, 2, 3].map((i) =>
    actor(`producer ${i}`, 160, async (own) => {
      if (await queue.isShort()) await produce(scene, own, `producer ${i}`);
    }),
  );
  const renewers = [1, 2].map((i) =>
    actor(`renewer ${i}`, 500, (own) => renew(scene, own, `renewer ${i}`)),
  );
  const users = [1, 2, 3].map((i) =>
    actor(`user ${i}`, 300, (own) => useCredits(scene, own, `user ${i}`)),
  );
  const pollers = [1, 2].map((i) => {
    const poller = new Poller(scene);
    return actor(`poller ${i}`, 50, (own) => poller.poll(own));
  });
  const admin = actor("admin", 700, (own) => operate(scene, own));
  await Promise.all([...producers, ...renewers, ...users, ...pollers, admin]);
}

/** Turn after turn, with a pause of about so long between them. */
async function turns(
  own: Dice,
  paceMs: number,
  turn: (dice: Dice) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await turn(own);
    await pause(own.between(0, 2 * paceMs));
  }
}

/** How many jobs wait, looked at once a second. */
class Backlog {
  readonly #scene: Scene;
  #jobs = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async isShort(): Promise<boolean> {
    if (performance.now() - this.#lookedAt > 1_000) {
      this.#lookedAt = performance.now();
      const asked = this.#scene.direct.query(
        "select count(*)::int as jobs from leasehold.jobs where finished_at is null",
      );
      // Where the server is away, the last number stands.
      this.#jobs = await asked.then(
        ({ rows }) => rows[0].jobs,
        () => this.#jobs,
      );
    }
    return this.#jobs < enough;
  }
}
