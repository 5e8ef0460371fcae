import { describe, expect, it } from "vitest";
import { displayWidth } from "../../src/cli/text-width.ts";
import { renderTop } from "../../src/cli/top/render.ts";
import type { TopState } from "../../src/cli/top/state.ts";

const at = "2030-01-31T12:00:00.000000Z";
const before = (seconds: number): string =>
  new Date(Date.parse(at) - seconds * 1_000).toISOString();

type Kind = TopState["kinds"][number];
type Worker = TopState["workers"][number];
type Job = TopState["jobs"][number];

const kind = (name: string, more: Partial<Kind> = {}): Kind => ({
  ...{ kind: name, paused: false, queued: 3, due: 2, running: 1, expired: 0, completed: 70 },
  ...{ failed: 4, cancelled: 0, oldest_due_ms: 90_000 },
  ...more,
});
const worker = (name: string, more: Partial<Worker> = {}): Worker => ({
  ...{ id: "w", name, kinds: ["fetch", "mail"], concurrency: 20, running: 1, idle: true },
  ...{ idle_since: before(5), listening: true, started_at: before(7_200), seen_at: before(3) },
  ...more,
});
const job = (key: string | null, more: Partial<Job> = {}): Job => ({
  ...{ id: "0198a000-0000-7000-8000-000000000001", kind: "fetch", key, attempts: 2 },
  ...{ max_attempts: 5, worker: "host:1", cancel_requested: false, claimed_at: before(12) },
  lease_until: before(-48),
  ...more,
});

const wide = { width: 200, height: 60 };
const empty: TopState = { at, kinds: [], workers: [], jobs: [] };

describe("the state of a queue", () => {
  it("is its kinds, workers and running jobs", () => {
    const state = {
      at,
      kinds: [kind("fetch"), kind("mail", { paused: true, running: 0, oldest_due_ms: null })],
      workers: [worker("host:1"), worker("host:2", { idle_since: null, listening: false })],
      jobs: [job("受信 1"), job(null, { cancel_requested: true, lease_until: before(1) })],
    };
    expect(renderTop(state, wide)).toEqual([
      "2030-01-31 12:00:00Z  2 kinds, 2 workers, 1 running",
      "",
      "KIND   QUEUED  DUE  WAIT    RUNNING  DONE  FAILED  PAUSED",
      "fetch       3    2  1m 30s        1    70       4",
      "mail        3    2                0    70       4  paused",
      "",
      "WORKER  RUNNING  UP  IDLE  SEEN  HEARS BY   KINDS",
      "host:1  1/20     2h  5s    3s    listening  fetch, mail",
      "host:2  1/20     2h        3s    polling    fetch, mail",
      "",
      "RUNNING  ATTEMPT  FOR  LEASE LEFT  WORKER              KEY     ID",
      "fetch    2/5      12s  48s         host:1              受信 1  0198a000-0000-7000-8000-000000000001",
      "fetch    2/5      12s  ran out     host:1  cancelling          0198a000-0000-7000-8000-000000000001",
    ]);
  });

  it("says where there is nothing", () => {
    expect(renderTop(empty, wide)).toEqual([
      "2030-01-31 12:00:00Z  0 kinds, 0 workers, 0 running",
      ...["", "No jobs.", "", "No workers.", "", "Nothing is running."],
    ]);
  });

  it("names what is wrong in one line, and nothing moves for it", () => {
    const lines = renderTop(empty, wide, "connection refused\nat once\u001b[2J");
    expect(lines[1]).toBe("connection refused at once\\u001b[2J");
    expect(lines.toSpliced(1, 1)).toEqual(renderTop(empty, wide).toSpliced(1, 1));
  });

  it("tells how many jobs run beyond those that were listed", () => {
    const state = { ...empty, kinds: [kind("fetch", { running: 1_500 })], jobs: [job("a")] };
    expect(renderTop(state, wide).at(-1)).toBe("… and 1499 more");
  });
});

describe("the size of the screen", () => {
  const many = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  const busy = (kinds: number, workers: number, jobs: number): TopState => ({
    at,
    kinds: many(kinds).map((i) =>
      kind(`kind ${i} 受信 ${"é".repeat(i)}`, { running: jobs / kinds }),
    ),
    workers: many(workers).map((i) => worker(`worker ${i} ${"👍🏽".repeat(i)}`)),
    jobs: many(jobs).map((i) => job(`key ${i} ${"한".repeat(i)}`)),
  });

  it("is kept, whatever it is and whatever there is", () => {
    for (const width of [1, 2, 7, 20, 79, 80, 81, 132]) {
      for (const height of [1, 2, 3, 4, 5, 7, 10, 24, 50]) {
        for (const state of [empty, busy(1, 1, 1), busy(4, 2, 40), busy(40, 40, 40)]) {
          const lines = renderTop(state, { width, height }, "x".repeat(300));
          expect(lines.length).toBeLessThanOrEqual(height);
          for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
        }
      }
    }
  });

  it("goes to those who have much to show, when the others have little", () => {
    const lines = renderTop(busy(2, 1, 100), { width: 100, height: 24 });
    expect(lines).toHaveLength(24);
    expect(lines.filter((line) => line.startsWith("kind"))).toHaveLength(2);
    expect(lines.filter((line) => line.startsWith("worker"))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith("fetch"))).toHaveLength(13);
    expect(lines.at(-1)).toBe("… and 87 more");
  });

  it("is shared evenly between those who all have much", () => {
    const lines = renderTop(busy(50, 50, 50), { width: 100, height: 31 });
    const starts = ["kind", "worker", "fetch"];
    const shown = starts.map((start) => lines.filter((line) => line.startsWith(start)).length);
    expect(shown).toEqual([7, 7, 7]);
    expect(lines.filter((line) => line === "… and 43 more")).toHaveLength(3);
  });

  it("cuts a long name short, so that it pushes nothing off the screen", () => {
    const long = "k".repeat(500);
    const state = {
      at,
      kinds: [kind(long)],
      workers: [worker(long)],
      jobs: [job(long, { kind: long })],
    };
    for (const line of renderTop(state, { width: 200, height: 20 })) {
      expect(displayWidth(line)).toBeLessThan(160);
    }
  });
});
