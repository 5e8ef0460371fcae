import type { JobStatus } from "leasehold";
import { type HttpHandler, http } from "leasehold/http";
import { type Books, isOver, type Promised } from "../books.ts";
import { jobs } from "../jobs.ts";
import type { Dice } from "../random.ts";
import type { Scene } from "../scene.ts";
import { once } from "../trouble.ts";

interface Seen {
  readonly status: JobStatus;
  /** Not told over HTTP. */
  readonly generation: number | undefined;
}

const check = "no status goes back";

/**
 * Asks for jobs, one at a time, as their owners do: over HTTP where they have one and the die says so.
 * What it has seen of a job is its own, so its answers come in order.
 */
export class Poller {
  readonly #scene: Scene;
  readonly #http: HttpHandler;
  readonly #seen = new Map<string, Seen>();

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#http = http({
      leasehold: scene.leasehold,
      jobs: [jobs.write],
      authorize: (request) => ({ owner: request.headers.get("x-owner") ?? "nobody" }),
    });
  }

  async poll(dice: Dice): Promise<void> {
    const { books } = this.#scene;
    if (books.promised.length === 0) return;
    const young = books.promised.slice(-60);
    const job = dice.pick(dice.chance(80) ? young : books.promised);
    if (job.owner !== null && dice.chance(10)) return this.#askAsAnother(job);
    const now = await this.#ask(job, dice);
    if (now === undefined) return;
    books.statusAnswers += 1;
    const before = this.#seen.get(job.id);
    this.#seen.set(job.id, now);
    if (before !== undefined) judge(books, job, before, now);
  }

  async #ask(job: Promised, dice: Dice): Promise<Seen | undefined> {
    const { books, leasehold } = this.#scene;
    if (job.owner !== null && dice.chance(40)) return this.#askOverHttp(job, job.owner);
    const scope = job.owner === null ? {} : { owner: job.owner };
    const state = await once(books, "status", () => leasehold.status(job.id, scope));
    if (state === null) books.blame(check, `${job.id}: status answered null`);
    return state ?? undefined;
  }

  async #askOverHttp({ id }: Promised, owner: string): Promise<Seen | undefined> {
    const response = await this.#get(id, owner);
    if (response.status === 200) {
      const { status } = (await response.json()) as { status: JobStatus };
      return { status, generation: undefined };
    }
    if (response.status !== 503) {
      this.#scene.books.blame(check, `${id}: HTTP ${response.status} ${await response.text()}`);
    }
    return undefined;
  }

  /** Another's job is the same 404 as one that does not exist. */
  async #askAsAnother({ id }: Promised): Promise<void> {
    const { status } = await this.#get(id, "somebody else");
    if (status !== 404 && status !== 503) {
      this.#scene.books.blame("no job is shown to another", `${id}: HTTP ${status}`);
    }
  }

  #get(id: string, owner: string): Promise<Response> {
    const url = `http://localhost/api/leasehold/jobs/${id}`;
    return this.#http(new Request(url, { headers: { "x-owner": owner } }));
  }
}

/** Completed stays so; failed and cancelled do unless somebody retried; a generation never falls. */
function judge(books: Books, job: Promised, before: Seen, now: Seen): void {
  const story = `${job.id}: ${JSON.stringify(before)}, then ${JSON.stringify(now)}`;
  const revived = books.retried.has(job.id) && before.status !== "completed";
  if (isOver(before.status) && now.status !== before.status && !revived) books.blame(check, story);
  const { generation: earlier } = before;
  const { generation: later } = now;
  if (earlier !== undefined && later !== undefined && later < earlier) books.blame(check, story);
}
