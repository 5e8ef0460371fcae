import { describe, expect, test } from "vitest";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { client } from "../drain/support/client.ts";
import { interposed, untouchable } from "../drain/support/interposed.ts";

const mail = defineJob("mail");
const mailer = () => {
  const database = interposed(untouchable, (call) => call.go());
  return {
    database,
    leasehold: client(
      database,
      handle(mail, () => undefined),
    ),
  };
};

const numbers = [Number.NaN, 0, -1, 0.4, Number.POSITIVE_INFINITY, "500", 1e20, null];
const texts = ["", "  ", "a\nb", "\ud800", 5, null, {}];
const bad: Record<string, readonly unknown[]> = {
  concurrency: numbers,
  poll: numbers,
  // None is a grace and an idle time like any other.
  grace: numbers.filter((value) => value !== 0),
  idleAfter: numbers.filter((value) => value !== 0),
  idlePoll: numbers,
  worker: texts,
  kinds: [[], ["unknown"], ["mail", "unknown"], "mail", null, [5], {}],
  listen: [null, 0, "no", {}],
  signals: [null, 1, "SIGTERM", []],
};

describe("an option of work that is wrong (S21)", () => {
  test.each(Object.entries(bad))("is refused at once and named: %s", (name, values) => {
    const { database, leasehold } = mailer();
    for (const value of values) {
      let thrown: unknown;
      try {
        leasehold.work({ [name]: value } as never);
      } catch (error) {
        thrown = error;
      }
      expect(thrown, `${name}: ${String(value)}`).toMatchObject({ code: "LH002" });
      expect((thrown as Error).message).toMatch(new RegExp(`^${name} `));
    }
    expect(database.calls).toEqual([]);
    expect(leasehold.told).toEqual([]);
  });

  test("or a poll without end, or one that is longer when idle than it may be, is refused", () => {
    const { leasehold } = mailer();
    for (const options of [
      { poll: 49 },
      { poll: "2h" },
      { poll: "10s", idlePoll: "5s" },
      { idlePoll: "2h" },
      { grace: "25h" },
      { concurrency: 10_001 },
    ]) {
      expect(() => leasehold.work(options)).toThrow(/accepted|to|from/i);
    }
  });

  test("that is not known is refused with the nearest one", () => {
    const { leasehold } = mailer();
    expect(() => leasehold.work({ concurency: 5 } as never)).toThrow(
      expect.objectContaining({ code: "LH003", message: expect.stringContaining("concurrency") }),
    );
    for (const options of [null, "fast", 5, []]) {
      expect(() => leasehold.work(options as never)).toThrow(
        expect.objectContaining({ code: "LH002" }),
      );
    }
  });

  test("of stop is refused, and stops nothing", async () => {
    const pending = { ...untouchable, call: () => new Promise<never>(() => undefined) };
    const leasehold = client(
      pending,
      handle(mail, () => undefined),
    );
    const worker = leasehold.work({ signals: false });
    for (const grace of numbers.filter((value) => value !== 0)) {
      await expect(worker.stop({ grace } as never)).rejects.toMatchObject({ code: "LH002" });
    }
    await expect(worker.stop({ gracious: 1 } as never)).rejects.toMatchObject({ code: "LH003" });
    expect(worker.health().state).toBe("starting");
    await worker.stop({ grace: 0 });
  });
});

test("a client without handlers has nothing that a worker could run", () => {
  const leasehold = createLeasehold({ database: untouchable });
  expect(() => leasehold.work()).toThrow(expect.objectContaining({ code: "LH105" }));
});

test("the kinds of a worker are those of the call, whatever becomes of the list", async () => {
  const kinds = ["mail"];
  const seen: unknown[] = [];
  const database = interposed(untouchable, async ({ name, args }) => {
    if (name === "worker_beat") seen.push((args.p_state as { kinds: unknown }).kinds);
    return name === "worker_beat" ? { due: false, next_ms: null, idle_workers: 1 } : [];
  });
  const leasehold = client(
    database,
    handle(mail, () => undefined),
  );
  const worker = leasehold.work({ signals: false, kinds });
  kinds.length = 0;
  await worker.stop();
  expect(seen).toEqual([["mail"]]);
});
