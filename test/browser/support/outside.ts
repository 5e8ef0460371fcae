import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the example asks of others, without a pause of its own, and held back when a test says so. */
export interface Outside {
  readonly url: string;
  /** How often each path was asked for. */
  readonly calls: ReadonlyMap<string, number>;
  /** From now on the checks get no answer, so whatever asks for one is in the middle of its work. */
  hold(): void;
  /** Answers all that wait, and what comes from now on. */
  release(): void;
  stop(): void;
}

export async function startOutside(): Promise<Outside> {
  const calls = new Map<string, number>();
  const waiting = new Set<ServerResponse>();
  let held = false;
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://outside").pathname;
    const times = (calls.get(path) ?? 0) + 1;
    calls.set(path, times);
    const name = path.slice(1);
    const answer = name === "tile" ? { id: "tile", served: times } : { name, score: 50, note: "" };
    response.write(`${JSON.stringify(answer)}\n`);
    if (held && name !== "tile") waiting.add(response);
    else response.end();
  });
  // As in next-server.ts: who asks again must not meet a server that hangs up.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const release = (): void => {
    held = false;
    for (const response of waiting) response.end();
    waiting.clear();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    hold: () => {
      held = true;
    },
    release,
    stop() {
      release();
      server.closeAllConnections();
      server.close();
    },
  };
}
