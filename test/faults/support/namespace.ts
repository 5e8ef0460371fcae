import { spawnSync } from "node:child_process";
import type { Host } from "./network.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-process.ts";

/*
 * Hosts in network namespaces of Linux. Between the database's machine and the host stands a router, a
 * namespace too: one that forwards nothing loses packets without a word, as a broken network does, and
 * what TCP sends again arrives after the rejoin.
 *
 *     here  .1 ── .2  router  .5 ── .6  host
 */

/** Networks in 198.18.0.0/15, which is for tests of networks: one for each host. */
const nets = 256;

/** Whether namespaces can be made here: on Linux, with the rights of root. */
export function hasNamespaces(): boolean {
  const name = `leasehold-${process.pid}-try`;
  if (!succeeds("ip", "netns", "add", name)) return false;
  return succeeds("ip", "netns", "del", name);
}

/** The addresses that a database must listen on, and let in, for hosts in namespaces. */
export const namespaceAddresses = "198.18.0.0/15";

/** A host in a namespace. `port` is the database's, which listens on all addresses of this machine. */
export function hostInNamespace(port: number, database: string): Host {
  const net = freeNet();
  const address = (last: number): string => `198.18.${net}.${last}`;
  const name = nameOf(net);
  const router = `${name}-router`;
  const link = name;
  ip("netns", "add", router);
  ip("link", "add", link, "type", "veth", "peer", "name", "outer", "netns", router);
  ip("-n", router, "link", "add", "inner", "type", "veth", "peer", "name", "eth0", "netns", name);
  ip("addr", "add", `${address(1)}/30`, "dev", link);
  ip("-n", router, "addr", "add", `${address(2)}/30`, "dev", "outer");
  ip("-n", router, "addr", "add", `${address(5)}/30`, "dev", "inner");
  ip("-n", name, "addr", "add", `${address(6)}/30`, "dev", "eth0");
  ip("link", "set", link, "up");
  for (const device of ["outer", "inner"]) ip("-n", router, "link", "set", device, "up");
  for (const device of ["eth0", "lo"]) ip("-n", name, "link", "set", device, "up");
  ip("-n", name, "route", "add", "default", "via", address(5));
  ip("route", "add", `${address(4)}/30`, "via", address(2));
  const forward = (on: 0 | 1): void =>
    ip("netns", "exec", router, "sysctl", "-qw", `net.ipv4.ip_forward=${on}`);
  const refuse = (action: "add" | "del"): void => {
    for (const end of [1, 6]) ip("-n", router, "route", action, "unreachable", address(end));
  };
  forward(1);
  let refused = false;
  const workers: WorkerProcess[] = [];
  return {
    start(settings) {
      const url = `postgres://postgres@${address(1)}:${port}/${database}`;
      const worker = startWorkerProcess({ ...settings, url }, ["ip", "netns", "exec", name]);
      workers.push(worker);
      return worker;
    },
    cut(loss) {
      refused = loss === "refused";
      if (refused) refuse("add");
      else forward(0);
    },
    rejoin() {
      if (refused) refuse("del");
      else forward(1);
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.kill()));
      for (const namespace of [name, router]) ip("netns", "del", namespace);
      succeeds("ip", "link", "del", link); // gone with its peer, by and by
    },
  };
}

/** A network that nobody uses, nor a run that was killed has left: its namespace is made here. */
function freeNet(): number {
  for (let net = 0; net < nets; net += 1)
    if (succeeds("ip", "netns", "add", nameOf(net))) return net;
  throw new Error("All networks are taken: see `ip netns list`, and delete what nobody uses.");
}

const nameOf = (net: number): string => `leasehold-${net}`;

function succeeds(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync("ip", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
}
