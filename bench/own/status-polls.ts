/**
 * Asks for the status of jobs, as the pages of many users do. Argument: `Polls` as JSON; answers
 * `Polled`.
 */
import { createLeasehold, silentLogger } from "leasehold";
import { pg } from "leasehold/pg";
import { Client } from "pg";
import { nowMs } from "../child/clock.ts";

export interface Polls {
  readonly url: string;
  /** How many in all, of as many jobs; the first fifth is not counted. */
  readonly polls: number;
  /** How many ask at a time; as many connections. */
  readonly clients: number;
  /** Each answer's status, or the poll is none. */
  readonly status: string;
}

export interface Polled {
  readonly perSecond: number;
}

const { url, polls, clients, status } = JSON.parse(process.argv[2] ?? "{}") as Polls;
const database = pg({ connectionString: url, max: clients });
const leasehold = createLeasehold({ database, logger: silentLogger, housekeeping: false });

const client = new Client({ connectionString: url });
await client.connect();
const { rows } = await client.query("select id from leasehold.jobs limit $1", [polls]);
const ids = rows.map(({ id }) => id as string);
await client.end();

/** The place in `ids` of the next, and of the last that is asked for. */
let next = 0;
let end = 0;
async function ask(): Promise<void> {
  while (next < end) {
    const id = ids[next % ids.length] as string;
    next += 1;
    const state = await leasehold.status(id, { owner: "someone" });
    if (state?.status !== status) {
      throw new Error(`No figure, since a job is ${state?.status ?? "unknown"} and not ${status}`);
    }
  }
}

// Thrown away: connections and compiled code come with them.
await askUpTo(Math.floor(polls / 5));
const asked = next;
const fromMs = nowMs();
await askUpTo(polls);
const answer: Polled = { perSecond: (polls - asked) / ((nowMs() - fromMs) / 1_000) };
await leasehold.close();
process.send?.(answer, () => process.disconnect());

async function askUpTo(place: number): Promise<void> {
  end = place;
  await Promise.all(Array.from({ length: clients }, ask));
}
