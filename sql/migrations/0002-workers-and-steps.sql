-- Long-running workers, and durable steps.

-- Durable steps: what each part of a handler answered, kept for the job's next attempt.
create table leasehold.steps (
  job_id     uuid not null,                          -- no foreign key, as in job_events
  name       text not null,
  value      jsonb not null,
  generation int not null,                           -- the claim that saved it
  saved_at   timestamptz not null,
  primary key (job_id, name)
);

-- The long-running workers that are alive. Diagnosis, and who is to be told of new jobs; no lease and
-- no claim depends on it. Half of each page stays free, so that a beat stays on its page.
create table leasehold.workers (
  id          uuid primary key,
  name        text not null,                         -- as in jobs.worker
  kinds       text[] not null,
  concurrency int not null,
  idle        boolean not null,                      -- has a free slot and found nothing due: tell it
  idle_since  timestamptz,
  listener    int,                                   -- the backend of its listening connection; null: it polls
  started_at  timestamptz not null,
  seen_at     timestamptz not null,
  expires_at  timestamptz not null                   -- not alive any more, unless it is heard of before
) with (fillfactor = 50);
