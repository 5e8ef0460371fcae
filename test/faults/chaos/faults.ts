import { setTimeout as pause } from "node:timers/promises";
import { pg as pgDatabase } from "leasehold/pg";
import { migrate } from "leasehold/schema";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { add } from "./books.ts";
import type { Crew, Post } from "./crew.ts";
import { leaseMs } from "./jobs.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import type { Dice } from "./random.ts";
import { callWithinMs, type Scene } from "./scene.ts";
import { answered } from "./trouble.ts";

const hourMs = 3_600_000;

/** What a fault does, until what it broke is whole again. */
type Fault = (scene: Scene, dice: Dice) => Promise<void>;

const faults = {
  "worker killed": (scene, dice) => killed(scene, dice, "worker"),
  "drain killed": (scene, dice) => killed(scene, dice, "drainer"),

  /** Frozen for longer than its lease: others take its jobs, and then it goes on. */
  "worker frozen": ({ crew }, dice) =>
    crew.borrow(dice, ["worker", "drainer"], async ({ member }) => {
      member.freeze();
      await pause(leaseMs * 1.2 + dice.between(0, leaseMs));
      member.thaw();
    }),

  "worker terminated": ({ crew }, dice) =>
    crew.borrow(dice, ["worker", "drainer"], async (post) => {
      await post.member.terminate();
      crew.replace(post);
    }),

  /** A process with another clock takes the place of one that stops. */
  "clock an hour off": ({ crew }, dice) =>
    crew.borrow(dice, ["worker", "drainer"], async (post) => {
      await post.member.terminate();
      crew.replace(post, dice.pick([-hourMs, hourMs]));
    }),

  "backends terminated": async (scene, dice) => {
    const some = `select pg_terminate_backend(pid) from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid() and datname = 'postgres'
      order by random() limit $1`;
    const count = dice.between(1, 6);
    await serverIsUp(() =>
      answered(scene.books, "faults", () => scene.direct.query(some, [count])),
    );
  },

  "network cut": ({ crew }, dice) =>
    crew.borrow(dice, ["worker", "drainer"], ({ place }) =>
      cut(place.proxy, dice.between(100, 1.5 * leaseMs)),
    ),

  "network stalled": ({ crew }, dice) =>
    crew.borrow(dice, ["worker", "drainer"], ({ place }) =>
      stall(place.proxy, dice.between(500, 2 * leaseMs)),
    ),

  "connections half-open": ({ crew }, dice) =>
    crew.borrow(dice, ["worker", "drainer"], async (post) => {
      post.place.proxy.fallSilent();
      if (post.place.driver === "postgres") await replacedWhenDeaf(crew, post);
    }),

  "actors' network cut": ({ proxy }, dice) => actorsWay(() => cut(proxy, dice.between(100, 2_000))),

  /** For longer than a call of theirs waits: its answer is lost, and it takes effect all the same. */
  "actors' network stalled": ({ proxy }, dice) =>
    actorsWay(() => stall(proxy, callWithinMs + dice.between(500, 2_000))),

  "actors' connections half-open": ({ proxy }) => actorsWay(async () => proxy.fallSilent()),

  "PostgreSQL killed": ({ server }, dice) =>
    serverIsUp(() => server.crashAndRestart(dice.pick(["immediate", "killed"]))),

  "storage fails": async ({ storage }, dice) => {
    storage.mood = dice.pick(["500", "503", "silent"]);
    await pause(dice.between(500, 2_500));
    storage.mood = "well";
  },

  "provider down": async (scene, dice) => {
    const set = (reachable: boolean) =>
      answered(scene.books, "faults", () =>
        scene.provider.query("update state set reachable = $1", [reachable]),
      );
    await set(false);
    await pause(dice.between(500, 2_500));
    await set(true);
  },

  /** A role is asked for, so that the whole script runs and not only the look at the version. */
  "schema migrated again": (scene) =>
    serverIsUp(async () => {
      const again = () => migrate(pgDatabase(scene.direct), { roles: ["chaos_client"] });
      await answered(scene.books, "migrate", again);
    }),
} as const satisfies Record<string, Fault>;

export type FaultKind = keyof typeof faults;

export const faultKinds = Object.keys(faults) as FaultKind[];

/** Lets a fault happen, and counts it. */
export async function happen(scene: Scene, kind: FaultKind, dice: Dice): Promise<void> {
  add(scene.books.faults, kind, 1);
  await (faults[kind] as Fault)(scene, dice);
}

/** One after the other: what kills the server, and what needs it. */
const serverIsUp = oneAtATime();

async function killed({ crew }: Scene, dice: Dice, role: "worker" | "drainer"): Promise<void> {
  await crew.borrow(dice, [role], async (post) => {
    await post.member.kill();
    crew.replace(post);
  });
}

async function cut(proxy: TcpProxy, ms: number): Promise<void> {
  proxy.cut();
  await pause(ms);
  proxy.restore();
}

async function stall(proxy: TcpProxy, ms: number): Promise<void> {
  proxy.stall();
  await pause(ms);
  proxy.restore();
}

/**
 * A connection of postgres.js that went dead without a word is given up after 30 s, and the run has not
 * that much time for each: a worker is told to stop, as by an operator who sees that it is not ready,
 * and a drain is killed past its limit, as by a platform.
 */
async function replacedWhenDeaf(crew: Crew, post: Post): Promise<void> {
  await pause(2 * leaseMs);
  if (post.place.role === "worker") await post.member.terminate();
  else await post.member.kill();
  crew.replace(post);
}

/** One fault at a time on the way that all actors share. */
const actorsWay = oneAtATime();
