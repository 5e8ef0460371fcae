import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import type { Session } from "../support/databases.ts";
import { call } from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const every = (on: Session, intervalMs = 60_000) => call(on, "every", "sweep", intervalMs);
const taken = async (sessions: Session[]) =>
  (await Promise.all(sessions.map((on) => every(on)))).filter(Boolean).length;

describe("every", () => {
  test("is true to exactly one of twenty at once, each interval anew (S20)", async () => {
    const sessions = await race.sessions(20);
    expect(await taken(sessions)).toBe(1);
    expect(await taken(sessions)).toBe(0);
    for (let interval = 0; interval < 10; interval++) {
      await ageAll(race.db, "ticks", 61_000);
      expect(await taken(sessions)).toBe(1);
    }
  });

  test("is false at once while another caller's transaction holds the interval", async () => {
    const [first, second] = [await race.session(), await race.impatient()];
    await every(first);
    await ageAll(race.db, "ticks", 61_000);
    await first.begin();
    expect(await every(first)).toBe(true);
    expect(await every(second)).toBe(false);
    await first.commit();
    expect(await every(second)).toBe(false);
  });

  test("gives the interval back when the caller that took it rolls back", async () => {
    const [first, second] = [await race.session(), await race.impatient()];
    await every(first);
    await ageAll(race.db, "ticks", 61_000);
    await first.begin();
    expect(await every(first)).toBe(true);
    await first.rollback();
    expect(await every(second)).toBe(true);
  });

  test.each(["commit", "rollback"] as const)(
    "waits at the first use of a name for another's, whose %s decides",
    async (end) => {
      const [first, second] = await race.pair();
      await first.begin();
      expect(await every(first)).toBe(true);
      const waiting = await race.blocked(second, (on) => every(on));
      await first[end]();
      expect(await waiting.answer).toBe(end === "rollback");
      expect(await race.value("select count(*) from leasehold.ticks where name = 'sweep'")).toBe(1);
    },
  );

  test("does not wait for a caller of another name", async () => {
    const [first, second] = [await race.session(), await race.impatient()];
    await first.begin();
    expect(await call(first, "every", "other", 1000)).toBe(true);
    expect(await every(second)).toBe(true);
    await first.commit();
  });
});

describe("define_kind, pause and resume", () => {
  const kind = async () => (await race.query("select * from leasehold.kinds"))[0];

  test("two definitions of a new kind at once are one row with both", async () => {
    const [first, second] = await race.pair();
    await first.begin();
    expect(await call(first, "define_kind", "mail", { lease_ms: 1000 })).toBe(true);
    const waiting = await race.blocked(second, (on) =>
      call(on, "define_kind", "mail", { max_attempts: 3 }),
    );
    await first.commit();
    expect(await waiting.answer).toBe(true);
    expect(await kind()).toMatchObject({ lease_ms: 1000, max_attempts: 3 });
  });

  test("a definition leaves what another changed while it waited", async () => {
    await call(race, "define_kind", "mail", { timeout_ms: 5000 });
    const [first, second] = await race.pair();
    await first.begin();
    await call(first, "define_kind", "mail", { lease_ms: 1000, backoff_ms: [1] });
    const waiting = await race.blocked(second, (on) =>
      call(on, "define_kind", "mail", { max_attempts: 3, timeout_ms: null }),
    );
    await first.commit();
    expect(await waiting.answer).toBe(true);
    expect(await kind()).toMatchObject({
      lease_ms: 1000,
      backoff_ms: [1],
      max_attempts: 3,
      timeout_ms: null,
    });
  });

  test("a definition does not undo a pause that it waited for", async () => {
    await call(race, "define_kind", "mail", { lease_ms: 1000 });
    const [operator, worker] = await race.pair();
    await operator.begin();
    await call(operator, "pause", "mail");
    const waiting = await race.blocked(worker, (on) =>
      call(on, "define_kind", "mail", { lease_ms: 2000 }),
    );
    await operator.commit();
    await waiting.answer;
    expect(await kind()).toMatchObject({ lease_ms: 2000, paused_at: expect.any(Date) });
  });

  test("a definition that changes nothing waits for nobody", async () => {
    await call(race, "define_kind", "mail", { lease_ms: 1000 });
    const [operator, worker] = [await race.session(), await race.impatient()];
    await operator.begin();
    await call(operator, "define_kind", "mail", { max_attempts: 3 });
    expect(await call(worker, "define_kind", "mail", { lease_ms: 1000 })).toBe(false);
    await operator.commit();
  });

  test("of two pauses at once one was the first, and so of two resumes", async () => {
    const [first, second] = await race.pair();
    for (const act of ["pause", "resume"]) {
      await first.begin();
      expect(await call(first, act, "mail")).toBe(true);
      const waiting = await race.blocked(second, (on) => call(on, act, "mail"));
      await first.commit();
      expect(await waiting.answer).toBe(false);
    }
    expect(await kind()).toMatchObject({ paused_at: null });
  });
});
