/**
 * A process of its own that starts jobs as its parent says, and dies as its parent says. Arguments:
 * the scenario, the database's URL, and one argument of the scenario's own.
 */
import { createLeasehold, defineJob, type Handled, handle } from "../../../src/index.ts";
import { pg } from "../../../src/pg/index.ts";
import { Ledger, type Point, payment } from "./ledger.ts";

const [scenario = "", url = "", argument = ""] = process.argv.slice(2);

/** Rejects never; resolves when the message is written. */
function tell(message: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else resolve();
  });
}

const word = () => new Promise<unknown>((resolve) => process.once("message", resolve));

const client = (...handlers: Handled[]) =>
  createLeasehold({ database: pg(url), handlers, grace: 300 });

/** Dies here when the parent said so; nothing is cleaned up. */
async function dies(point: Point): Promise<void> {
  if (point !== argument) return;
  await tell({ dies: point });
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => undefined);
}

const scenarios: Record<string, () => Promise<void>> = {
  /** Starts a paid job whose handler waits, or ignores all signals, or ends soon. */
  async start() {
    const assess = defineJob("assess", { cost: 1, lease: "2s", timeout: "1h" });
    const leasehold = client(
      handle(assess, async ({ signal }) => {
        await tell({ running: true });
        if (argument === "hangs") return new Promise(() => undefined);
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        if (argument === "finishes") return "just in time";
        throw signal.reason;
      }),
    );
    await tell({ started: await leasehold.start(assess, {}, { owner: "ann" }) });
    if (argument === "serves") await word();
  },

  /** Charges the ledger and fails afterwards, dying at the point that the argument names. */
  async pay() {
    const ledger = new Ledger(url);
    const pay = payment(ledger, dies);
    const leasehold = client(
      handle(pay, async (job) => {
        const key = await job.idempotencyKey();
        await dies("before charge");
        await ledger.charge(key);
        await dies("after charge");
        throw Object.assign(new Error("the model is away"), { status: 400 });
      }),
    );
    const started = await leasehold.start(pay, {});
    await tell({ started });
    // Then polls for its own job, as its page would.
    for (;;) {
      await leasehold.status("id" in started ? started.id : "");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },

  /** Charges the ledger only when it is told to, whatever became of its lease. */
  async late() {
    const ledger = new Ledger(url);
    const pay = payment(ledger);
    const leasehold = client(
      handle(pay, async (job) => {
        const key = await job.idempotencyKey();
        await tell({ about: key });
        await word();
        await ledger.charge(key);
        await tell({ charged: true });
        return "charged";
      }),
    );
    leasehold.on("lost", () => void tell({ lost: true }));
    await tell({ started: await leasehold.start(pay, {}) });
    await word();
  },
};

await scenarios[scenario]?.();
