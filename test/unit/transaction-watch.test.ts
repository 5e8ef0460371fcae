import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Database, Listening } from "../../src/database.ts";
import { TransactionWatch } from "../../src/transaction-watch.ts";

const stands = { held: true, cancel_requested: false, busy: true };
const free = { ...stands, busy: false };
const gone = { ...free, held: false };
const never = () => new Promise<never>(() => undefined);

type Answer = () => object | Promise<object>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => void vi.useRealTimers());

interface Way {
  readonly pool: Answer;
  readonly anew?: Answer;
  /** How a new connection comes about; null: there is none to be had. */
  readonly listen?: ((connection: Listening) => Promise<Listening | null>) | null | undefined;
  readonly leaseMs?: number;
}

/** A watch over a transaction, and what it did, in order. */
function watched({ pool, anew = never, listen, leaseMs = 30_000 }: Way) {
  const did: string[] = [];
  const connection: Listening = {
    call: async (name) => {
      did.push(`${name} anew`);
      return anew();
    },
    close: async () => void did.push("close"),
  };
  const database: Database = {
    schema: "leasehold",
    call: async (name) => {
      if (name === "schema_version") return pool === never ? never() : "1";
      did.push(name);
      return pool();
    },
    ...(listen !== null && { listen: () => (listen ?? (async (given) => given))(connection) }),
  };
  const watch = TransactionWatch.over(
    { client: null, call: never, abandon: () => void did.push("abandon") },
    {
      database,
      claimed: { id: "a", generation: 1 },
      lease: { lose: () => void did.push("lose") },
      leaseMs,
    },
  );
  if (watch === null) throw new Error("It was not made");
  return { did, watch };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a watch over an open job.transaction", () => {
  test("asks nothing in the first third of the lease", async () => {
    const { did, watch } = watched({ pool: () => stands });
    await pass(9_999);
    watch.stop();
    await pass(60_000);
    expect(did).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("asks nothing right behind the commit: a question under way is waited for, the next put off", async () => {
    let answer: (given: object) => void = () => undefined;
    const pool = () => new Promise<object>((resolve) => (answer = resolve));
    const { did, watch } = watched({ pool });
    await pass(10_000);
    expect(did).toEqual(["extend"]);
    let ready = false;
    const waiting = watch.beforeCommit().then(() => {
      ready = true;
    });
    await pass(1_000);
    expect(ready).toBe(false);
    answer(stands);
    await pass(0);
    expect(ready).toBe(true);
    await pass(9_999);
    expect(did).toEqual(["extend"]);
    await pass(1);
    expect(did).toEqual(["extend", "extend"]);
    watch.stop();
    await waiting;
  });

  test("calls off a look that has not come to its question", async () => {
    const { did, watch } = watched({ pool: never });
    await pass(10_000); // asks whether the pool answers at all
    await watch.beforeCommit();
    await pass(9_999);
    expect(did).toEqual([]);
    watch.stop();
  });

  test("asks every third of the lease, once a second at the most", async () => {
    const long = watched({ pool: () => stands });
    await pass(60_000);
    long.watch.stop();
    expect(long.did).toEqual(Array(6).fill("extend"));
    const short = watched({ pool: () => stands, leaseMs: 100 });
    await pass(10_000);
    short.watch.stop();
    expect(short.did).toHaveLength(10);
  });

  test("gives up the connection where the row is found free twice, and goes on renewing", async () => {
    const { did, watch } = watched({ pool: () => free });
    await pass(10_000);
    expect(did).toEqual(["extend"]); // it may be the rollback, whose answer is under way
    await pass(2_000);
    expect(did).toEqual(["extend", "extend", "abandon"]);
    await pass(10_000);
    expect(did.filter((what) => what === "extend")).toHaveLength(3);
    watch.stop();
  });

  test("gives up the connection and the lease where the claim is found gone twice", async () => {
    const { did } = watched({ pool: () => gone });
    await pass(60_000);
    expect(did).toEqual(["extend", "extend", "abandon", "lose"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("takes back its suspicion where the row is held after all", async () => {
    const answers = [free, stands];
    let asked = 0;
    const { did, watch } = watched({ pool: () => answers[asked++ % 2] as object });
    await pass(120_000);
    expect(did).not.toContain("abandon");
    watch.stop();
  });

  test("asks over a new connection where the pool does not answer", async () => {
    const { did } = watched({ pool: never, anew: () => gone });
    await pass(10_000 + 5_000);
    expect(did).toEqual(["extend anew", "close"]);
    await pass(2_000 + 5_000);
    expect(did.slice(2)).toEqual(["extend anew", "close", "abandon", "lose"]);
  });

  test("leaves one question to a silent pool, and none that could come after the job's end", async () => {
    const asked: string[] = [];
    const database: Database = {
      schema: "leasehold",
      call: (name) => {
        asked.push(name);
        return never();
      },
    };
    const tx = { client: null, call: never, abandon: () => undefined };
    const claimed = { id: "a", generation: 1 };
    const lease = { lose: () => undefined };
    const watch = TransactionWatch.over(tx, { database, claimed, lease, leaseMs: 30_000 });
    await pass(300_000);
    watch?.stop();
    expect(asked).toEqual(["schema_version"]);
  });

  test("asks over a new connection where the pool fails", async () => {
    const { did, watch } = watched({
      pool: () => Promise.reject(new Error("away")),
      anew: () => stands,
    });
    await pass(10_000);
    expect(did).toEqual(["extend", "extend anew", "close"]);
    await pass(10_000);
    expect(did).toHaveLength(6);
    watch.stop();
  });

  test.each<[string, Way["listen"]]>([
    ["the database has none", null],
    ["there is none to be had", async () => null],
    ["it can't be made", () => Promise.reject(new Error("away"))],
    ["it keeps the answer", undefined],
  ])("decides nothing without a new connection: %s", async (_, listen) => {
    const { did, watch } = watched({ pool: never, listen });
    await pass(300_000);
    expect(did).not.toContain("abandon");
    watch.stop();
    await pass(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("closes the connection that comes about when nobody waits for it any more", async () => {
    let come: () => void = () => undefined;
    const { did, watch } = watched({
      pool: never,
      listen: (connection) =>
        new Promise((resolve) => {
          come = () => resolve(connection);
        }),
    });
    await pass(20_000);
    watch.stop();
    come();
    await pass(0);
    expect(did).toEqual(["close"]);
  });

  test.each(["the pool's answer", "the new connection's"])(
    "leaves no timer when it stops while it waits for %s",
    async (which) => {
      const { did, watch } = watched({ pool: never });
      await pass(which === "the pool's answer" ? 12_000 : 17_000);
      watch.stop();
      await pass(0);
      expect(vi.getTimerCount()).toBe(0);
      await pass(60_000);
      expect(did).not.toContain("abandon");
    },
  );

  test("decides nothing by an answer that comes after its stop", async () => {
    let answer: (value: object) => void = () => undefined;
    const { did, watch } = watched({
      pool: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    await pass(10_000);
    answer(gone);
    await pass(2_000);
    watch.stop();
    answer(gone);
    await pass(60_000);
    expect(did).toEqual(["extend", "extend"]);
  });

  test("is not made where no connection could be given up", () => {
    const tx = { client: null, call: never };
    const lease = { lose: () => undefined };
    const database = { schema: "leasehold", call: never };
    const claimed = { id: "a", generation: 1 };
    expect(TransactionWatch.over(tx, { database, claimed, lease, leaseMs: 1 })).toBeNull();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("opens one new connection at a time, however many transactions are watched", async () => {
    let open = 0;
    let most = 0;
    const database: Database = {
      schema: "leasehold",
      call: never,
      listen: async () => {
        open += 1;
        most = Math.max(most, open);
        return {
          call: async () => stands,
          close: async () => {
            await new Promise((resolve) => setTimeout(resolve, 10));
            open -= 1;
          },
        };
      },
    };
    const tx = { client: null, call: never, abandon: () => undefined };
    const watches = Array.from({ length: 5 }, (_, i) =>
      TransactionWatch.over(tx, {
        database,
        claimed: { id: String(i), generation: 1 },
        lease: { lose: () => undefined },
        leaseMs: 30_000,
      }),
    );
    await pass(16_000);
    expect(most).toBe(1);
    expect(open).toBe(0);
    for (const watch of watches) watch?.stop();
  });
});
