import type { Session } from "../../support/databases.ts";
import { type Claim, call, complete, enqueue, expired, fail, failed, running } from "./calls.ts";
import { grant, paid, refund } from "./ledger.ts";
import type { Race } from "./race.ts";

type Act = (on: Session, job: Claim) => Promise<unknown>;

/** Two calls that race for the same credits. */
export interface Rivals {
  name: string;
  /** What ann is granted at the beginning. */
  credits: number;
  prepare: (race: Race) => Promise<Claim>;
  first: Act;
  second: Act;
  /** What the second answers, and what is in the books then, by how the transaction of the first ends. */
  commit: [unknown, string[]];
  rollback: [unknown, string[]];
}

const own = { ...paid, key: "k" };
const nothing = async () => ({ id: "", generation: 0 });
const orphan = (race: Race) => expired(race, { ...own, max_attempts: 1 });
const busy = (race: Race) => running(race, { ...own, max_attempts: 1 });
const broken = async (race: Race) => ({ id: await failed(race, own), generation: 1 });
const done = async (race: Race) => {
  const job = await running(race, own);
  await complete(race, job);
  return job;
};

const outcome =
  (name: string, ...values: unknown[]): Act =>
  async (on, { id }) =>
    (await call(on, name, id, ...values)).outcome;
const cancelling = outcome("cancel");
const retrying = outcome("retry");
const refunding =
  (amount: number, reference: string): Act =>
  async (on, { id }) =>
    (await refund(on, id, amount, reference)).outcome;
const enqueuing =
  (key: string): Act =>
  async (on) =>
    (await enqueue(on, { ...paid, key })).outcome;
const granting: Act = async (on) => (await grant(on, 3, "ann", "more")).outcome;
const polling: Act = async (on, { id }) => (await call(on, "status", id)).status;
const failing: Act = (on, job) => fail(on, job, true);
const pruning: Act = (on) => call(on, "prune", { older_than_ms: 0 });

const held = ["ann 7+3 grant hold", "k running held"];
const captured = ["ann 7+0 grant hold capture", "k completed captured"];
const givenBack = ["ann 10+0 grant hold give_back", "k failed given_back"];
const cancelled = ["ann 10+0 grant hold give_back", "k cancelled given_back"];
const refunded = ["ann 10+0 grant hold capture refund", "k completed refunded"];
const partly = ["ann 9+0 grant hold capture refund", "k completed captured"];
const charged = ["ann 0+3 grant hold", "k queued held"];
const retried = ["ann 0+3 grant hold give_back hold", "k queued held"];
const besides = ["ann 0+3 grant hold give_back hold", "k failed given_back", "k queued held"];

export const rivals: Rivals[] = [
  {
    name: "an enqueue against an enqueue, with credits for one",
    credits: 3,
    prepare: nothing,
    first: enqueuing("k"),
    second: enqueuing("other"),
    commit: ["insufficient", charged],
    rollback: ["created", ["ann 0+3 grant hold", "other queued held"]],
  },
  {
    name: "an enqueue against an enqueue under the same key, with credits for one",
    credits: 3,
    prepare: nothing,
    first: enqueuing("k"),
    second: enqueuing("k"),
    commit: ["conflict", charged],
    rollback: ["created", charged],
  },
  {
    name: "a grant against an enqueue that needs it",
    credits: 1,
    prepare: nothing,
    first: granting,
    second: enqueuing("k"),
    // What is not committed can't be spent, and is not waited for where the rest does not do.
    commit: ["insufficient", ["ann 4+0 grant grant"]],
    rollback: ["insufficient", ["ann 1+0 grant"]],
  },
  {
    name: "a grant against its repetition",
    credits: 1,
    prepare: nothing,
    first: granting,
    second: granting,
    commit: ["duplicate", ["ann 4+0 grant grant"]],
    rollback: ["granted", ["ann 4+0 grant grant"]],
  },
  {
    name: "a poller's reap against the late complete",
    credits: 10,
    prepare: orphan,
    first: polling,
    second: complete,
    commit: [false, givenBack],
    rollback: [true, captured],
  },
  {
    name: "a late complete against a poller",
    credits: 10,
    prepare: orphan,
    first: complete,
    second: polling,
    commit: ["running", captured],
    rollback: ["running", held],
  },
  {
    name: "a poller's reap against a late fail",
    credits: 10,
    prepare: orphan,
    first: polling,
    second: failing,
    commit: [null, givenBack],
    rollback: ["failed", givenBack],
  },
  {
    name: "a late fail against a poller",
    credits: 10,
    prepare: orphan,
    first: failing,
    second: polling,
    commit: ["running", givenBack],
    rollback: ["running", held],
  },
  {
    name: "a poller's reap against a cancel",
    credits: 10,
    prepare: orphan,
    first: polling,
    second: cancelling,
    commit: ["finished", givenBack],
    rollback: ["requested", held],
  },
  {
    name: "a cancel that reaps against a late complete",
    credits: 10,
    prepare: orphan,
    first: cancelling,
    second: complete,
    commit: [false, givenBack],
    rollback: [true, captured],
  },
  {
    name: "a requested cancel against a complete",
    credits: 10,
    prepare: busy,
    first: cancelling,
    second: complete,
    commit: [true, captured],
    rollback: [true, captured],
  },
  {
    name: "a requested cancel against a fail",
    credits: 10,
    prepare: busy,
    first: cancelling,
    second: failing,
    commit: ["cancelled", cancelled],
    rollback: ["failed", givenBack],
  },
  {
    name: "a complete against a cancel",
    credits: 10,
    prepare: busy,
    first: complete,
    second: cancelling,
    commit: ["finished", captured],
    rollback: ["requested", held],
  },
  {
    name: "a retry against a retry",
    credits: 3,
    prepare: broken,
    first: retrying,
    second: retrying,
    commit: ["wrong_status", retried],
    rollback: ["retried", retried],
  },
  {
    name: "a retry against an enqueue under its key",
    credits: 3,
    prepare: broken,
    first: retrying,
    second: enqueuing("k"),
    commit: ["conflict", retried],
    rollback: ["created", besides],
  },
  {
    name: "an enqueue against a retry under its key",
    credits: 3,
    prepare: broken,
    first: enqueuing("k"),
    second: retrying,
    commit: ["conflict", besides],
    rollback: ["retried", retried],
  },
  {
    name: "a refund against its repetition",
    credits: 10,
    prepare: done,
    first: refunding(2, "a"),
    second: refunding(2, "a"),
    commit: ["duplicate", partly],
    rollback: ["refunded", partly],
  },
  {
    name: "a refund against another, which together are too much",
    credits: 10,
    prepare: done,
    first: refunding(2, "a"),
    second: refunding(3, "b"),
    commit: ["refused", partly],
    rollback: ["refunded", refunded],
  },
  {
    name: "a refund against a retry",
    credits: 10,
    prepare: done,
    first: refunding(3, "a"),
    second: retrying,
    commit: ["wrong_status", refunded],
    rollback: ["wrong_status", captured],
  },
  {
    name: "a refund against a cancel",
    credits: 10,
    prepare: done,
    first: refunding(3, "a"),
    second: cancelling,
    commit: ["finished", refunded],
    rollback: ["finished", captured],
  },
  {
    name: "a complete against a refund",
    credits: 10,
    prepare: busy,
    first: complete,
    second: refunding(3, "a"),
    commit: ["refunded", refunded],
    rollback: ["refused", held],
  },
  {
    name: "a prune against a refund",
    credits: 10,
    prepare: done,
    first: pruning,
    second: refunding(3, "a"),
    commit: ["refunded", ["ann 10+0 grant hold capture refund"]],
    rollback: ["refunded", refunded],
  },
  {
    name: "a refund against a prune",
    credits: 10,
    prepare: done,
    first: refunding(3, "a"),
    second: pruning,
    commit: [{ deleted: 0 }, refunded],
    rollback: [{ deleted: 0 }, captured],
  },
];
