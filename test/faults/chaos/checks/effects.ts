import { type Check, sqlCheck } from "../check.ts";
import { transactionKinds } from "../jobs.ts";

/** What handlers wrote. An effect of job.transaction commits with the completion, or not at all. */
export const effectChecks: readonly Check[] = [
  sqlCheck(
    "a job that completed took effect once, by its last claim; one that did not, never",
    `select j.id as what, count(e.job_id) <> (case when j.status = 'completed' then 1 else 0 end)
       or bool_or(e.generation <> j.generation or e.run <> j.run) as bad
     from leasehold.jobs j left join app.effects e on e.job_id = j.id
     where j.kind = any ($1::text[]) group by j.id`,
    () => [transactionKinds.filter((kind) => kind !== "renew")],
  ),
  sqlCheck(
    "each run of a renewed job took effect once at most, its last one with its newest payload",
    `select j.id as what,
       count(e.run) <> count(distinct e.run)
       or (j.status = 'completed' and count(*) filter (
         where e.run = j.run and e.generation = j.generation and e.tag = j.payload ->> 'tag') <> 1)
       or (j.status <> 'completed' and count(*) filter (where e.run = j.run) > 0) as bad
     from leasehold.jobs j left join app.effects e on e.job_id = j.id
     where j.kind = 'renew' group by j.id`,
  ),
  sqlCheck(
    "no effect belongs to a job that is not there",
    `select e.job_id as what, j.id is null as bad
     from app.effects e left join leasehold.jobs j on j.id = e.job_id`,
  ),
  sqlCheck(
    "writes under guard come in the order of the claims, none after the last claim's end",
    `select g.job_id as what, g.generation < max(g.generation) over earlier
       or g.generation > j.generation as bad
     from app.guarded g left join leasehold.jobs j on j.id = g.job_id
     window earlier as (partition by g.job_id order by g.seq)`,
  ),
  sqlCheck(
    "what completed under guard was written under guard",
    `select j.id as what, not exists (
       select from app.guarded g where g.job_id = j.id and g.generation = j.generation) as bad
     from leasehold.jobs j where j.kind = 'guarded' and j.status = 'completed'`,
  ),
  sqlCheck(
    "a step's answer is the stored one",
    `select e.job_id as what, s.value is distinct from to_jsonb(e.step) as bad
     from app.effects e join leasehold.jobs j on j.id = e.job_id and j.kind = 'steps'
     left join leasehold.steps s on s.job_id = e.job_id and s.name = 'second'`,
  ),
  {
    promise: "what was stored outside is there, once per job",
    async look({ direct, storage }) {
      const { rows } = await direct.query(
        `select id, payload ->> 'tag' as tag from leasehold.jobs
         where kind = 'store' and status = 'completed'`,
      );
      const isMissing = ({ id, tag }: { id: string; tag: string }) =>
        storage.objects.get(`/${id}`) !== tag;
      return { count: rows.length, violations: rows.filter(isMissing).map(({ id }) => id) };
    },
  },
];
