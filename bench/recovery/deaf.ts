import type { TcpProxy } from "../../test/support/tcp-proxy.ts";
import type { Figure } from "./figures.ts";
import type { Place } from "./place.ts";
import { startProcess, until } from "./processes.ts";

/** How the listening connection is lost. */
const losses = {
  "ended by the server": (place: Place) => place.terminateListeners(),
  "half-open": async (_: Place, proxy: TcpProxy) => proxy.fallSilent(),
} as const;

/**
 * The connection on which an idle worker listens is lost; how long until it listens again, and until a
 * job starts that was enqueued right after the loss.
 */
export async function deaf(place: Place, proxy: TcpProxy, rounds: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [how, lose] of Object.entries(losses)) {
    const worker = startProcess({ url: place.url, listen: proxy.url, kind: "deaf" });
    const listensMs: number[] = [];
    const startsMs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await until(() => worker.listens.at(-1)?.listening, "it listens");
      const from = Date.now();
      const changes = worker.listens.length;
      await lose(place, proxy);
      const id = await place.enqueue("deaf");
      const started = await until(() => worker.began.find((job) => job.id === id)?.at, "the job");
      const again = await until(
        () => worker.listens.slice(changes).find((each) => each.listening)?.at,
        "it listens again",
      );
      startsMs.push(started - from);
      listensMs.push(again - from);
    }
    worker.kill();
    const settings = "node-postgres, poll 5 s (default)";
    figures.push(
      {
        what: `listening connection ${how} → it listens again`,
        with: settings,
        roundsMs: listensMs,
      },
      { what: "… a job that is enqueued meanwhile starts", with: settings, roundsMs: startsMs },
    );
  }
  return figures;
}
