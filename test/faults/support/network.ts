import { startTcpProxy } from "../../support/tcp-proxy.ts";
import type { ChildSettings } from "./child.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-process.ts";

/** How a host loses the network: what it sends gets no answer, or a refusal. */
export type Loss = "silent" | "refused";

/** A machine of its own, as far as its network goes. */
export interface Host {
  start(settings: Omit<ChildSettings, "url">): WorkerProcess;
  /** From now on nothing reaches the database from here, or this host from there. */
  cut(loss: Loss): void;
  /** Ends that. What was sent meanwhile and not given up arrives now. */
  rejoin(): void;
  close(): Promise<void>;
}

/** A host behind a proxy, which can be had everywhere. */
export async function hostBehindProxy(databaseUrl: string): Promise<Host> {
  const proxy = await startTcpProxy(databaseUrl);
  const workers: WorkerProcess[] = [];
  return {
    start(settings) {
      const worker = startWorkerProcess({ ...settings, url: proxy.url });
      workers.push(worker);
      return worker;
    },
    cut: (loss) => (loss === "silent" ? proxy.stall() : proxy.cut()),
    rejoin: () => proxy.restore(),
    async close() {
      await Promise.all(workers.map((worker) => worker.kill()));
      await proxy.close();
    },
  };
}
