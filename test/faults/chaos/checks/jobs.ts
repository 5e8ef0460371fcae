import { type Check, sqlCheck } from "../check.ts";
import type { Scene } from "../scene.ts";

const json = (value: unknown) => JSON.stringify(value);
const promised = ({ books }: Scene) => [json(books.promised)];
const tagged = (tags: readonly string[]) => [json(tags)];

/** What enqueue said, and what became of the jobs. */
export const jobChecks: readonly Check[] = [
  sqlCheck(
    "every job is over",
    "select id as what, finished_at is null as bad from leasehold.jobs",
  ),
  sqlCheck(
    "every acknowledged job is there, once, and over",
    `select p.id as what, count(j.id) <> 1 or bool_or(j.status not in ('completed', 'failed', 'cancelled')) as bad
     from jsonb_to_recordset($1::jsonb) p (id uuid) left join leasehold.jobs j on j.id = p.id
     group by p.id`,
    promised,
  ),
  sqlCheck(
    "every acknowledged enqueue made one job, the one it named",
    `select p.tag || ' ' || p.id as what, coalesce(array_agg(j.id), '{}') <> array[p.id] as bad
     from jsonb_to_recordset($1::jsonb) p (id uuid, tag text)
     left join leasehold.jobs j on j.payload ->> 'tag' = p.tag
     group by p.tag, p.id`,
    promised,
  ),
  sqlCheck(
    "an enqueue whose answer was lost made one job at most",
    `select t.tag as what, count(j.id) > 1 as bad
     from jsonb_array_elements_text($1::jsonb) t (tag)
     left join leasehold.jobs j on j.payload ->> 'tag' = t.tag group by t.tag`,
    ({ books }) => tagged(books.unknown),
  ),
  sqlCheck(
    "what was refused or rolled back made no job",
    `select t.tag as what, count(j.id) > 0 as bad
     from jsonb_array_elements_text($1::jsonb) t (tag)
     left join leasehold.jobs j on j.payload ->> 'tag' = t.tag group by t.tag`,
    ({ books }) => tagged(books.refused),
  ),
  sqlCheck(
    "a producer's own row and its job commit together",
    `select o.tag as what, count(o.tag) <> count(j.id) or count(*) > 1 as bad
     from app.orders o left join leasehold.jobs j on j.payload ->> 'tag' = o.tag group by o.tag`,
  ),
  sqlCheck(
    "no job began before it was due",
    `select j.id as what, j.started_at < j.created_at + p.delay_ms * interval '1 millisecond' as bad
     from jsonb_to_recordset($1::jsonb) p (id uuid, delay_ms int) join leasehold.jobs j on j.id = p.id
     where j.started_at is not null`,
    ({ books }) => {
      // run_now and retry make a job due at once.
      const isHurried = (id: string) => books.hurried.has(id) || books.retried.has(id);
      const due = books.promised.filter(({ id, delayMs }) => delayMs > 0 && !isHurried(id));
      return [json(due.map(({ id, delayMs }) => ({ id, delay_ms: delayMs })))];
    },
  ),
  sqlCheck(
    "no claim is handed out twice",
    "select job_id as what, count(*) > 1 as bad from app.attempts group by job_id, generation",
  ),
  sqlCheck(
    "a job is completed by its last claim alone",
    `select id as what, (result -> 'generation')::int is distinct from generation as bad
     from leasehold.jobs where kind in ('guarded', 'store', 'charge', 'late') and status = 'completed'`,
  ),
  sqlCheck(
    "no attempt is lost or made up: each claim is counted, given back or begun anew",
    `select id as what, attempts > max_attempts or attempts + releases > generation as bad
     from leasehold.jobs`,
  ),
  sqlCheck(
    "what can't be stored is dropped, and the job is done",
    `select id as what, status <> 'completed' or result is not null as bad
     from leasehold.jobs j where kind = 'rubbish' and payload ->> 'how' not like 'throws%'
       and not exists (select from leasehold.job_events e
         where e.job_id = j.id and e.event = 'reaped' and j.status = 'failed')`,
  ),
  sqlCheck(
    "what failed for good says why, and was never done",
    `select id as what, status = 'completed' or (status = 'failed' and last_error_code is null) as bad
     from leasehold.jobs where kind = 'refuse'`,
  ),
  renewed(),
];

/** The newest payload of a key is what its job ends with, unless an unanswered one came in between. */
function renewed(): Check {
  const promise = "a key that is renewed ends with its newest payload";
  return {
    promise,
    async look({ books, direct }) {
      const violations: string[] = [];
      for (const [key, renewals] of books.renewals) {
        const last = renewals.findLast(({ id }) => id !== null);
        if (last === undefined) continue;
        const { rows } = await direct.query(
          "select payload ->> 'tag' as tag from leasehold.jobs where id = $1",
          [last.id],
        );
        // A call that a stalled network held back may have come after later ones.
        const lost = renewals.filter(({ id }) => id === null).map(({ tag }) => tag);
        const found = rows[0]?.tag;
        if (found !== last.tag && !lost.includes(found)) {
          violations.push(`${last.id}: ${key} has ${found}, not ${last.tag}`);
        }
      }
      return { count: books.renewals.size, violations };
    },
  };
}
