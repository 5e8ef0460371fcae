import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventsOf, rowOf, until } from "../drain/support/client.ts";
import type { PostgresServer } from "../support/postgres-server.ts";
import { urlOf, withClient } from "../support/template.ts";
import { installAt, type JobsPlace } from "./support/jobs-place.ts";
import { hasNamespaces, hostInNamespace, namespaceAddresses } from "./support/namespace.ts";
import { type Host, hostBehindProxy } from "./support/network.ts";
import { serverOpenTo } from "./support/open-server.ts";
import type { WorkerProcess } from "./support/worker-process.ts";

const leaseMs = 3_000;

/** Where hosts can be had here: behind a proxy each, and where root may, in namespaces. */
const networks = [
  { network: "behind a proxy", driver: "pg" },
  ...(hasNamespaces() ? [{ network: "in a namespace", driver: "postgres" } as const] : []),
] as const;
const losses = ["silent", "refused"] as const;
const cases = networks.flatMap((each) => losses.map((loss) => ({ ...each, loss })));

let server: PostgresServer;
beforeAll(async () => {
  server = await serverOpenTo(namespaceAddresses);
});
afterAll(() => server.stop());

/** A host, and the worker on it. */
interface Worked {
  readonly host: Host;
  readonly worker: WorkerProcess;
}

/** Two hosts, each on a network of its own, and their database. */
interface Hosts {
  readonly db: JobsPlace & { readonly quotedSchema: string };
  readonly both: readonly [Worked, Worked];
}

describe.concurrent.each(cases)("a host $network that is cut off ($loss)", ({ loss, ...given }) => {
  let hosts: Hosts;
  beforeAll(async () => {
    hosts = await openHosts(given, `hosts_${loss}_${given.driver}`);
  });
  afterAll(() => hosts && closeHosts(hosts));

  test.sequential.each(["runs", "is completed"])(
    "for longer than its lease loses its job, and whatever it writes when the next claim %s",
    async (next) => {
      const { db } = hosts;
      const { id, holder, rival } = await begun(hosts, "hold");
      holder.host.cut(loss);
      await until(() => beginnings(rival, id).length > 0, "another host takes the job");
      // What it sends from now on is on its way until the rejoin, or refused and sent again.
      holder.worker.goOn(id);
      const complete = async (): Promise<void> => {
        rival.worker.goOn(id);
        await until(() => completions(rival, id).length > 0, "the other host completes it");
      };
      if (next === "is completed") await complete();
      expect(tries(holder, id)).toEqual([]);
      holder.host.rejoin();
      await until(() => lost(holder, id).length > 0, "the first host knows");
      if (next === "runs") await complete();
      const refused = { step: "LH001", guard: "LH001", transaction: "LH001", extend: false };
      expect(tries(holder, id)).toEqual([{ id, generation: 1, late: refused }]);
      expect(holder.worker.toldOf("aborted")).toContainEqual({ id, because: "lost" });
      expect(lost(holder, id)).toEqual([{ id, generation: 1 }]);
      expect(await rowOf(db, id)).toMatchObject({
        status: "completed",
        generation: 2,
        attempts: 2,
      });
      // One by the guard of the second claim, one by its transaction.
      expect(await effectsOf(db, id)).toEqual([2, 2]);
      const reaped = { event: "reaped", generation: 1, code: "LEASE_EXPIRED" };
      expect(await eventsOf(db, id)).toContainEqual(expect.objectContaining(reaped));
      await goesOn(hosts, holder);
    },
  );

  test.sequential("in the middle of a job's transaction lets go of its row within the lease", async () => {
    const { db } = hosts;
    const { id, holder, rival } = await begun(hosts, "inside");
    holder.host.cut(loss);
    await until(() => beginnings(rival, id).length > 0, "another host takes the job");
    rival.worker.goOn(id);
    await until(() => completions(rival, id).length > 0, "the other host completes it");
    holder.worker.goOn(id);
    holder.host.rejoin();
    await until(() => lost(holder, id).length > 0, "the first host knows");
    expect(completions(holder, id)).toEqual([]);
    expect(await rowOf(db, id)).toMatchObject({ status: "completed", generation: 2 });
    expect(await effectsOf(db, id)).toEqual([2]);
    await goesOn(hosts, holder);
  });

  test.sequential("for less than its lease keeps its job, and nobody else runs it", async () => {
    const { db } = hosts;
    const { id, holder, rival } = await begun(hosts, "patient");
    holder.host.cut(loss);
    await until(() => missedRenewal(db, id), "a renewal is missed");
    holder.worker.goOn(id);
    const returned = () => holder.worker.toldOf("returned").some((job) => job.id === id);
    await until(returned, "its handler returns");
    holder.host.rejoin();
    await until(() => completions(holder, id).length > 0, "its outcome arrives");
    expect(await rowOf(db, id)).toMatchObject({ status: "completed", generation: 1, attempts: 1 });
    expect(beginnings(rival, id)).toEqual([]);
    expect(await eventsOf(db, id)).toEqual([]);
    await goesOn(hosts, holder);
    expect(await db.value("select leasehold.verify()")).toMatchObject({ ok: true });
  });
});

async function openHosts(
  { network, driver }: (typeof networks)[number],
  name: string,
): Promise<Hosts> {
  await withClient(server.url, (client) => client.query(`create database ${name}`));
  const url = urlOf(server.url, name);
  const db = { ...(await installAt(url)), quotedSchema: "leasehold" };
  const open = async (): Promise<Worked> => {
    const host =
      network === "in a namespace"
        ? hostInNamespace(server.port, name)
        : await hostBehindProxy(url);
    return { host, worker: host.start({ driver, leaseMs, work: { concurrency: 4, poll: 200 } }) };
  };
  const both = [await open(), await open()] as const;
  const ready = () => both.every(({ worker }) => worker.toldOf("ready").length > 0);
  await until(ready, "both workers", 100_000);
  return { db, both };
}

async function closeHosts({ db, both }: Hosts): Promise<void> {
  for (const { host } of both) await host.close();
  await db.close();
}

/** A job of this kind that one of the two has in hand; it is the holder from now on. */
async function begun({ db, both }: Hosts, kind: string) {
  const { id } = (await db.database.call("enqueue", { p_kind: kind })) as { id: string };
  const [one, other] = both;
  const somebody = () => both.some((each) => beginnings(each, id).length > 0);
  await until(somebody, `somebody begins ${kind}`, 40_000);
  const isOne = beginnings(one, id).length > 0;
  return { id, holder: isOne ? one : other, rival: isOne ? other : one };
}

const beginnings = ({ worker }: Worked, id: string) =>
  worker.toldOf("began").filter((job) => job.id === id);
const completions = ({ worker }: Worked, id: string) =>
  worker.toldOf("completed").filter((job) => job.id === id);
const tries = ({ worker }: Worked, id: string) =>
  worker.toldOf("tried").filter((job) => job.id === id);
const lost = ({ worker }: Worked, id: string) =>
  worker.toldOf("lost").filter((job) => job.id === id);

/** The generations under which the job took effect. */
async function effectsOf(db: JobsPlace, id: string): Promise<number[]> {
  const rows = await db.query("select generation from public.effects where job_id = $1", [id]);
  return rows.map(({ generation }) => generation);
}

/** Whether less of the lease is left than right before a renewal. */
const missedRenewal = (db: JobsPlace, id: string): Promise<boolean> =>
  db.value(
    `select lease_until - clock_timestamp() < 0.6 * lease_ms * interval '1 millisecond'
     from leasehold.jobs where id = $1`,
    [id],
  );

/** Its worker takes new jobs and completes them, as it is: nobody started it again. */
async function goesOn({ db }: Hosts, { worker }: Worked): Promise<void> {
  const before = worker.toldOf("completed").length;
  const more = async (): Promise<boolean> => {
    await db.database.call("enqueue", { p_kind: "write" });
    return worker.toldOf("completed").length > before;
  };
  await until(more, "a new job for the host that rejoined", 40_000);
  await db.finished();
}
