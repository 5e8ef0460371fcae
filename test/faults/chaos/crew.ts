import { setTimeout as pause } from "node:timers/promises";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { Member, type Place } from "./member.ts";
import type { Dice } from "./random.ts";

/** Five workers and two drains; the drivers' share, and who begins with a clock that is wrong. */
const roles = [
  { name: "worker 1", role: "worker", driver: "pg", clockMs: 3_600_000 },
  { name: "worker 2", role: "worker", driver: "postgres", clockMs: 0 },
  { name: "worker 3", role: "worker", driver: "pg", clockMs: -3_600_000 },
  { name: "worker 4", role: "worker", driver: "postgres", clockMs: 0 },
  { name: "worker 5", role: "worker", driver: "pg", clockMs: 0 },
  { name: "drain 1", role: "drainer", driver: "pg", clockMs: 0 },
  { name: "drain 2", role: "drainer", driver: "postgres", clockMs: 0 },
] as const;

export interface CrewOptions {
  readonly databaseUrl: string;
  readonly providerUrl: string;
  readonly storageUrl: string;
  /** Hears of each child that ended unasked, or wrote what it should not. */
  blame(what: string): void;
}

/** A place and who is at it now. A fault takes it, so that no two faults meet at one process. */
export interface Post {
  readonly place: Place;
  member: Member;
}

/** The child processes that do the work, each at its own proxy. */
export class Crew {
  /** How often a process began with a clock that is an hour off. */
  shiftedClocks = 0;
  /** How many processes there were. */
  processes = 0;
  readonly #posts: Post[] = [];
  readonly #taken = new Set<Post>();
  readonly #blame: CrewOptions["blame"];

  static async start(options: CrewOptions): Promise<Crew> {
    const crew = new Crew(options.blame);
    for (const { name, role, driver, clockMs } of roles) {
      const proxy = await startTcpProxy(options.databaseUrl);
      const environment = {
        CHAOS_URL: proxy.url,
        CHAOS_PROVIDER_URL: options.providerUrl,
        CHAOS_STORAGE_URL: options.storageUrl,
        CHAOS_DRIVER: driver,
      };
      const place: Place = { name, role, driver, proxy, environment };
      crew.#posts.push({ place, member: crew.#begin(place, clockMs) });
    }
    return crew;
  }

  private constructor(blame: CrewOptions["blame"]) {
    this.#blame = blame;
  }

  /** Lends a post to a fault, once one of this role is free, for as long as `act` takes. */
  async borrow(
    dice: Dice,
    roles: readonly Place["role"][],
    act: (post: Post) => Promise<void>,
  ): Promise<void> {
    const isFree = (post: Post) => roles.includes(post.place.role) && !this.#taken.has(post);
    let free = this.#posts.filter(isFree);
    for (; free.length === 0; free = this.#posts.filter(isFree)) await pause(50);
    const post = dice.pick(free);
    this.#taken.add(post);
    try {
      await act(post);
    } finally {
      this.#taken.delete(post);
    }
  }

  /** A new process at the place of one that has ended. */
  replace(post: Post, clockMs = 0): void {
    post.member = this.#begin(post.place, clockMs);
  }

  get workers(): readonly Post[] {
    return this.#posts.filter(({ place }) => place.role === "worker");
  }

  async terminate(): Promise<void> {
    await Promise.all(this.#posts.map(({ member }) => member.terminate()));
  }

  /** Ends whatever still runs, and the proxies. */
  async close(): Promise<void> {
    await Promise.all(this.#posts.map(({ member }) => member.kill()));
    await Promise.all(this.#posts.map(({ place }) => place.proxy.close()));
  }

  #begin(place: Place, clockMs: number): Member {
    this.processes += 1;
    if (clockMs !== 0) this.shiftedClocks += 1;
    return new Member(place, clockMs, this.#blame);
  }
}
