import { expect, test } from "vitest";
import { Progress } from "../../bench/harness/progress.ts";

/** What a child tells of its consumer. */
function child() {
  return {
    ran: 0,
    onRan: (_atMs: number, _mb: number): void => undefined,
    onCrash: (_error: Error): void => undefined,
    tell(ran: number, atMs: number): void {
      this.ran = ran;
      this.onRan(atMs, 50);
    },
  };
}

const longMs = 60_000;

test("the jobs of all consumers are added up, step by step", async () => {
  const [one, other] = [child(), child()];
  const progress = new Progress([one, other]);
  const reached = progress.until(5, longMs);
  one.tell(2, 10);
  other.tell(2, 11);
  one.tell(4, 12);
  expect(await reached).toEqual({ ran: 6, atMs: 12 });
  expect(progress.steps).toEqual([
    { ran: 2, atMs: 10 },
    { ran: 4, atMs: 11 },
    { ran: 6, atMs: 12 },
  ]);
});

test("what is reached already is not waited for, nothing at all included", async () => {
  const one = child();
  const progress = new Progress([one]);
  expect(await progress.until(0, longMs)).toMatchObject({ ran: 0 });
  one.tell(3, 10);
  expect(await progress.until(3, longMs)).toEqual({ ran: 3, atMs: 10 });
});

test("when the time is over, there is no step", async () => {
  const one = child();
  const progress = new Progress([one]);
  const late = progress.until(3, 1);
  one.tell(2, 10);
  expect(await late).toBeUndefined();
});

test("a consumer that crashes ends the wait, and each that follows", async () => {
  const [one, other] = [child(), child()];
  const progress = new Progress([one, other]);
  const waiting = progress.until(3, longMs);
  other.onCrash(new Error("It ended."));
  await expect(waiting).rejects.toThrow("It ended.");
  await expect(progress.until(3, longMs)).rejects.toThrow("It ended.");
});
