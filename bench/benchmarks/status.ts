import type { Benchmark, Case } from "../harness/benchmark.ts";
import { figure } from "../harness/figures.ts";
import type { Place } from "../harness/place.ts";
import { runScript } from "../harness/script.ts";
import type { Polled, Polls } from "../own/status-polls.ts";

const script = new URL("../own/status-polls.ts", import.meta.url);
const clients = 16;
const jobs = 10_000;

/** What becomes of the jobs once they are claimed. */
const afterwards = {
  running: "select 1",
  completed: `select leasehold.finish_many(jsonb_agg(jsonb_build_object(
    'id', id, 'generation', generation, 'action', 'complete'))) from leasehold.jobs`,
  expired: "update leasehold.jobs set lease_until = lease_until - interval '1 day'",
};

export const status: Benchmark = {
  name: "status",
  title: "Polls of a job's status",
  about:
    "`leasehold.status(id, { owner })`, 10,000 calls by 16 clients at a time over 16 connections, " +
    "each of another job, of which the first 2,000 warm up: of running jobs, of finished ones, and of jobs whose lease ran out, where " +
    "each poll is also its reap. Each answer must be the right status.",
  contenders: ["leasehold"],
  once: true,
  cases: [
    polled("running", afterwards.running, "running"),
    polled("finished", afterwards.completed, "completed"),
    polled("the lease ran out, each poll reaps", afterwards.expired, "queued"),
  ],
};

function polled(name: string, then: string, status: string): Case {
  return {
    name,
    async measure(place) {
      const polls = await claimed(place, then);
      await place.settle();
      const given: Polls = { url: place.url, polls, clients, status };
      const { said } = await runScript<Polled>(place.bench.node, script, given);
      return { figures: [figure("polls", "a second", "more", said.perSecond)] };
    },
  };
}

/** Jobs of an owner, all claimed, then brought to the state that is asked for; how many. */
async function claimed(place: Place, then: string): Promise<number> {
  await place.prepare(["noop"]);
  const count = place.scaled(jobs);
  await place.query(`select leasehold.enqueue_many(jsonb_agg('{"kind": "noop", "owner": "someone"}'::jsonb))
    from generate_series(1, ${count})`);
  const rows = await place.query(`select id from leasehold.claim(array['noop'], ${count})`);
  if (rows.length !== count) throw new Error(`${rows.length} of ${count} jobs were claimed`);
  await place.query(then);
  return count;
}
