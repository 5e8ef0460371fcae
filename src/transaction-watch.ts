import type { Database, DatabaseTransaction, Listening } from "./database.ts";
import { inTime } from "./in-time.ts";
import type { ClaimedJob } from "./job.ts";
import type { Extension, Lease } from "./lease.ts";
import { unreferenced } from "./unreferenced.ts";

export interface WatchOptions {
  readonly database: Database;
  readonly claimed: Pick<ClaimedJob, "id" | "generation">;
  readonly lease: Pick<Lease, "lose">;
  readonly leaseMs: number;
}

/** At least so long between two looks. */
const leastMs = 1_000;

/** A pool, or a new connection, that keeps an answer for so long is asked no further this time. */
const answerWithinMs = 5_000;

/** The second look at what may be a commit whose answer is under way. */
const againMs = 2_000;

const unheard = { onNotification: () => undefined, onLost: () => undefined };

/** One new connection at a time for each database, however many transactions are watched. */
const probes = new WeakMap<Database, Promise<unknown>>();

/**
 * Looks from outside whether an open job.transaction still stands: where its connection has fallen
 * silent (a host without power, a firewall that forgot), the statement in it would wait for ever,
 * and nobody would notice that the claim is lost.
 *
 * While the transaction stands it holds the job's row, and `extend` answers busy. Where it answers
 * twice that the row is free, the server has ended the transaction, and its connection is given up;
 * where the claim is gone too, the lease is lost. A claim that stands is renewed by the same call.
 *
 * Asked first at a third of the lease: through the pool, and where that does not answer (its
 * connections may all be in use, or silent) over a new connection. No answer decides nothing.
 */
export class TransactionWatch {
  readonly #options: WatchOptions;
  readonly #abandon: () => void;
  readonly #everyMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #suspected = false;
  /** Counts the looks that were called off. */
  #round = 0;
  #extending: Promise<unknown> | undefined;
  /**
   * Whether the pool answers at all, asked anew only once that is answered: a silent pool's queue must
   * not grow, and an `extend` in it would come after the job's end, and be noted there as refused.
   */
  #asked: Promise<unknown> | undefined;
  #end: () => void = () => undefined;
  readonly #ended: Promise<never>;

  /** Null where there is no connection that could be given up. */
  static over(tx: DatabaseTransaction, options: WatchOptions): TransactionWatch | null {
    const { abandon } = tx;
    return abandon === undefined ? null : new TransactionWatch(() => abandon.call(tx), options);
  }

  private constructor(abandon: () => void, options: WatchOptions) {
    this.#abandon = abandon;
    this.#options = options;
    this.#everyMs = Math.max(Math.floor(options.leaseMs / 3), leastMs);
    this.#ended = new Promise<never>((_, reject) => {
      this.#end = () => reject(new Error("the transaction has ended"));
    });
    this.#ended.catch(() => undefined);
    this.#lookIn(this.#everyMs);
  }

  /**
   * To be awaited before the job's outcome is written and committed: an `extend` that came right behind
   * the commit would be noted as a refused write of a job that is well. The next look is at least a
   * second away.
   */
  async beforeCommit(): Promise<void> {
    this.#round += 1;
    clearTimeout(this.#timer);
    await this.#extending?.catch(() => undefined);
    if (!this.#stopped) this.#lookIn(this.#everyMs);
  }

  /** No look after this, and no timer; a question under way is given up. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#end();
  }

  #lookIn(ms: number): void {
    this.#timer = unreferenced(setTimeout(() => void this.#look(), ms));
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const round = this.#round;
    const answer = await this.#ask(round).catch(() => undefined);
    if (this.#stopped || round !== this.#round) return;
    if (answer === undefined) return this.#lookIn(this.#everyMs);
    const free = !answer.held || !answer.busy;
    if (free && this.#suspected) {
      this.#abandon();
      if (!answer.held) return this.#options.lease.lose();
    }
    this.#lookIn(free && !this.#suspected ? againMs : this.#everyMs);
    this.#suspected = free;
  }

  async #ask(round: number): Promise<Extension | undefined> {
    const { database } = this.#options;
    this.#asked ??= database.call("schema_version", {}).finally(() => {
      this.#asked = undefined;
    });
    try {
      await this.#inTime(this.#asked);
      return await this.#extendBy(database, round);
    } catch {
      if (this.#stopped) return undefined;
    }
    const before = probes.get(database);
    const asking = Promise.resolve(before).then(() => this.#askAnew(round));
    probes.set(
      database,
      asking.catch(() => undefined),
    );
    return asking;
  }

  /** The same over a connection of its own; undefined where there is none to be had. */
  async #askAnew(round: number): Promise<Extension | undefined> {
    if (this.#stopped || round !== this.#round) return undefined;
    const opening = (async () => (await this.#options.database.listen?.(unheard)) ?? null)();
    let connection: Listening | null | undefined;
    try {
      connection = await this.#inTime(opening);
      if (connection === null) return undefined;
      return await this.#extendBy(connection, round);
    } finally {
      // It may still come about, when nobody waits for it.
      if (connection === undefined) void opening.then(close, () => undefined);
      else await close(connection);
    }
  }

  async #extendBy(asked: Pick<Database, "call">, round: number): Promise<Extension | undefined> {
    if (round !== this.#round) return undefined;
    const { claimed, leaseMs } = this.#options;
    const { id: p_id, generation: p_generation } = claimed;
    const extending = asked.call("extend", { p_id, p_generation, p_lease_ms: leaseMs });
    this.#extending = this.#inTime(extending);
    return (await this.#extending) as Extension;
  }

  #inTime<T>(promise: Promise<T>): Promise<T> {
    return inTime(Promise.race([promise, this.#ended]), answerWithinMs);
  }
}

async function close(connection: Listening | null): Promise<void> {
  await connection?.close();
}
