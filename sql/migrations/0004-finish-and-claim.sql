-- Finishing and claiming in one round trip.

-- What finish_and_claim answers: the first row says what became of the outcomes, each other is a job.
create type leasehold.finished_and_claimed as (
  finished        jsonb,
  id              uuid,
  kind            text,
  key             text,
  owner           text,
  payload         jsonb,
  attempts        int,
  max_attempts    int,
  generation      int,
  releases        int,
  budget_releases int,
  run_after       text,
  lease_until     text,
  timeout_at      text,
  priority        int
);
