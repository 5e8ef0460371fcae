import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import type { Queryable } from "../support/databases.ts";
import { call } from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

type On = Pick<Queryable, "query" | "value">;
const begin = (on: On, key = "k", leaseMs = 60_000) => call(on, "cache_begin", key, leaseMs);
const put = (on: On, token: string, value: string) =>
  call(on, "cache_put", "k", token, JSON.stringify(value), 60_000);
const drop = (on: On, token: string | null = null) => call(on, "cache_drop", "k", token);
const pass = (ms: number) => ageAll(race.db, "cache", ms);
/** What a caller is told, as "hit=v", "fill" or "wait". */
const told = async (on: On = race) => {
  const { state, value } = await begin(on);
  return state === "hit" ? `hit=${value}` : state;
};

describe("a key that many ask for at once", () => {
  test("is filled by exactly one of twenty, each time anew", async () => {
    const sessions = await race.sessions(20);
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(sessions.map((on) => begin(on)));
      const states = answers.map(({ state }) => state).sort();
      expect(states).toEqual(["fill", ...Array(19).fill("wait")]);
      const token = answers.find(({ state }) => state === "fill").token;
      // By turns a value that ends, a fill that is given up, one that dies, and an invalidation.
      if (round % 4 === 0) await put(race, token, "v").then(() => pass(60_001));
      if (round % 4 === 1) await drop(race, token);
      if (round % 4 === 2) await pass(60_001);
      if (round % 4 === 3) await drop(race);
    }
  });

  test.each(["commit", "rollback"] as const)(
    "and is new: the second waits for the first's transaction, whose %s decides",
    async (end) => {
      const [first, second] = await race.pair();
      await first.begin();
      const { token } = await begin(first);
      const waiting = await race.blocked(second, (on) => begin(on));
      await first[end]();
      const { state } = await waiting.answer;
      expect(state).toBe(end === "commit" ? "wait" : "fill");
      expect(await put(race, token, "first")).toBe(end === "commit");
    },
  );

  test("and is new: the second gets the value where the first had it with its commit", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    await put(first, (await begin(first)).token, "first");
    const waiting = await race.blocked(second, (on) => told(on));
    await first.commit();
    expect(await waiting.answer).toBe("hit=first");
  });

  test("and is new: the second fills where the first has given up with its commit", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    await drop(first, (await begin(first)).token);
    const waiting = await race.blocked(second, (on) => told(on));
    await first.commit();
    expect(await waiting.answer).toBe("fill");
  });
});

describe("a fill whose lease ran out", () => {
  const expired = async () => {
    const { token } = await begin(race, "k", 1000);
    await pass(1001);
    return token as string;
  };

  test("is taken over by one, and the other does not wait for that one's transaction", async () => {
    const late = await expired();
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    const { state, token } = await begin(first);
    expect(state).toBe("fill");
    expect(await begin(second)).toMatchObject({ state: "wait", retry_after_ms: 20 });
    await first.commit();
    expect(await told(second)).toBe("wait");
    expect(await put(second, late, "late")).toBe(false);
    expect(await put(first, token, "next")).toBe(true);
    expect(await told()).toBe("hit=next");
  });

  test.each(["commit", "rollback"] as const)(
    "puts while it is being taken over: that one's %s decides",
    async (end) => {
      const late = await expired();
      const [next, filler] = await race.pair();
      await next.begin();
      const { token } = await begin(next);
      const waiting = await race.blocked(filler, (on) => put(on, late, "late"));
      await next[end]();
      expect(await waiting.answer).toBe(end === "rollback");
      expect(await put(race, token, "next")).toBe(end === "commit");
      expect(await told()).toBe(end === "commit" ? "hit=next" : "hit=late");
    },
  );

  test("is not taken over while it puts", async () => {
    const late = await expired();
    const [filler, other] = [await race.session(), await race.impatient()];
    await filler.begin();
    expect(await put(filler, late, "late")).toBe(true);
    expect(await told(other)).toBe("wait");
    await filler.commit();
    expect(await told(other)).toBe("hit=late");
  });

  test("and is being invalidated is not waited for", async () => {
    await expired();
    const [user, other] = [await race.session(), await race.impatient()];
    await user.begin();
    expect(await drop(user)).toBe(true);
    expect(await told(other)).toBe("wait");
    await user.commit();
    expect(await told(other)).toBe("fill");
  });
});

describe("an invalidation", () => {
  test.each(["commit", "rollback"] as const)(
    "against a put: its %s decides, and no value from before comes back",
    async (end) => {
      const { token } = await begin(race);
      const [user, filler] = await race.pair();
      await user.begin();
      expect(await drop(user)).toBe(true);
      const waiting = await race.blocked(filler, (on) => put(on, token, "before"));
      await user[end]();
      expect(await waiting.answer).toBe(end === "rollback");
      expect(await told()).toBe(end === "rollback" ? "hit=before" : "fill");
    },
  );

  test("against a put that came first takes its value away", async () => {
    const { token } = await begin(race);
    const [filler, user] = await race.pair();
    await filler.begin();
    expect(await put(filler, token, "before")).toBe(true);
    const waiting = await race.blocked(user, (on) => drop(on));
    await filler.commit();
    expect(await waiting.answer).toBe(true);
    expect(await told()).toBe("fill");
  });

  test("shows a hit to others until its commit, and makes none of them wait", async () => {
    await put(race, (await begin(race)).token, "v");
    const [user, other] = [await race.session(), await race.impatient()];
    await user.begin();
    await drop(user);
    expect(await told(other)).toBe("hit=v");
    await user.commit();
    expect(await told(other)).toBe("fill");
  });

  test("the token of before gives up nothing of the one after", async () => {
    const before = (await begin(race)).token;
    await drop(race);
    const [next, filler] = await race.pair();
    await next.begin();
    const after = (await begin(next)).token;
    expect(await drop(filler, before)).toBe(false);
    expect(await put(filler, before, "before")).toBe(false);
    await next.commit();
    expect(await drop(filler, before)).toBe(false);
    expect(await put(next, after, "after")).toBe(true);
    expect(await told()).toBe("hit=after");
  });
});

describe("prune", () => {
  const prune = (on: On) => call(on, "prune");
  const count = () => race.value("select count(*) from leasehold.cache");

  test("does not wait for a value that is being made anew, and leaves it", async () => {
    await put(race, (await begin(race)).token, "v");
    await pass(60_001);
    const [filler, pruner] = [await race.session(), await race.impatient()];
    await filler.begin();
    const { token } = await begin(filler);
    await prune(pruner);
    await filler.commit();
    await prune(pruner);
    expect(await count()).toBe(1);
    expect(await put(filler, token, "new")).toBe(true);
  });

  test("that is at it makes who asks wait a moment, and then fill", async () => {
    await put(race, (await begin(race)).token, "v");
    await pass(60_001);
    const [pruner, other] = [await race.session(), await race.impatient()];
    await pruner.begin();
    await prune(pruner);
    expect(await told(other)).toBe("wait");
    await pruner.commit();
    expect(await told(other)).toBe("fill");
    expect(await count()).toBe(1);
  });
});
