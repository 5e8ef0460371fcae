-- The tables. One row of `jobs` from birth to end tells a job's whole story; what did not go
-- straight stands in `job_events`. Nothing here is granted to anyone: the functions are the only
-- way in. This file is the truth for a fresh install; an older schema reaches it by migrations/.

create table leasehold.jobs (
  id                  uuid primary key,              -- version 7: sorts by creation
  kind                text not null,                 -- what to do
  key                 text,                          -- what it is about: one unfinished job per kind and key
  owner               text,                          -- who may see it
  payload             jsonb not null default '{}',
  status              text not null default 'queued'
                      check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')),
  priority            smallint not null default 0,   -- lower first
  attempts            int not null default 0,        -- claims that count; a release takes one back
  max_attempts        int not null default 5,
  generation          int not null default 0,        -- which claim it is: grows, never falls
  releases            int not null default 0,
  budget_releases     int not null default 0,        -- releases in a row with code BUDGET_EXCEEDED
  run_after           timestamptz not null default clock_timestamp(),
  start_within_ms     bigint,
  start_by            timestamptz,                   -- a queued job not started by then fails
  claimed_at          timestamptz,
  lease_ms            int,
  lease_until         timestamptz,                   -- until when nobody else may take the job
  timeout_at          timestamptz,                   -- no lease of this attempt passes it
  progress            jsonb,
  result              jsonb,
  last_error_code     text,
  last_error_message  text,
  worker              text,                          -- for diagnosis only
  created_at          timestamptz not null default clock_timestamp(),
  started_at          timestamptz,
  finished_at         timestamptz,
  cancel_requested_at timestamptz,
  rerun               jsonb,                         -- the payload of the run that follows this one
  run                 int not null default 1,        -- grows at retry and rerun
  money               text                           -- null: it has none
                      check (money in ('held', 'captured', 'given_back', 'refunded',
                                       'checking', 'charged', 'not_charged', 'unknown')),
  cost                bigint check (cost between 1 and 9007199254740991),
  account             text,                          -- whose credits it costs
  external            boolean not null default false, -- a ledger elsewhere is charged
  settle_after        timestamptz,                   -- until then an earlier attempt may still charge
  trace_context       jsonb,                         -- of who enqueued it, for the spans of its attempts
  constraint jobs_attempts_within_max check (attempts between 0 and max_attempts),
  constraint jobs_lease_while_running check ((status = 'running') = (lease_until is not null)),
  constraint jobs_finished_at_end check ((status in ('queued', 'running')) = (finished_at is null)),
  constraint jobs_cost_has_account check (cost is null or account is not null),
  constraint jobs_held_while_unfinished check (cost is null or (money = 'held') = (finished_at is null))
);

-- Defaults of a kind, for callers without a definition, and its pause.
create table leasehold.kinds (
  kind            text primary key,
  max_attempts    int,
  backoff_ms      int[],
  lease_ms        int,
  timeout_ms      int,
  start_within_ms bigint,
  retain_ms       bigint,                            -- prune deletes older finished jobs; null: keeps them
  paused_at       timestamptz
);

-- What did not go straight: failure, release, reap, cancel, re-run, refused write.
create table leasehold.job_events (
  id         bigint generated always as identity primary key,
  job_id     uuid not null,                          -- no foreign key: it would lock jobs on each insert
  at         timestamptz not null,
  event      text not null,
  generation int,
  code       text,
  message    text,
  detail     jsonb
);

-- Idempotency beyond completion: the first job that was enqueued under a name.
create table leasehold.once (
  kind       text not null,
  owner      text not null,                          -- '' where the job has none
  once       text not null,
  job_id     uuid,                                   -- null while its first enqueue is being decided
  expires_at timestamptz not null,
  primary key (kind, owner, once)
);

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

-- Single flight across processes: a value under a key, or who is making it at present.
create table leasehold.cache (
  key        text primary key,
  token      uuid,                                   -- of the fill under way; null: there is a value
  value      jsonb,                                  -- JSON's null where that is the value
  since      timestamptz not null,                   -- when the fill began, or the value was stored
  expires_at timestamptz not null,                   -- the end of the fill's lease, or of the value
  constraint cache_fill_or_value check ((token is null) = (value is not null))
);

-- Credits. An account has only what is available: what is held is the sum of its open holds, so that a
-- capture touches no account, and nobody's open transaction stalls a worker.
create table leasehold.accounts (
  account   text primary key,
  available bigint not null check (available between 0 and 9007199254740991)
);

-- What a job may cost, set aside from its enqueue to its end.
create table leasehold.holds (
  id         bigint generated always as identity primary key,
  job_id     uuid not null,                          -- no foreign key: it outlives the job
  run        int not null,
  account    text not null,
  amount     bigint not null check (amount between 1 and 9007199254740991),
  state      text not null default 'held' check (state in ('held', 'captured', 'given_back')),
  created_at timestamptz not null,
  ended_at   timestamptz,
  constraint holds_ended check ((state = 'held') = (ended_at is null)),
  constraint holds_run unique (job_id, run)
);

-- Every change of credits, for ever: for each account, available and held are the sums of these.
create table leasehold.entries (
  id              bigint generated always as identity primary key,
  at              timestamptz not null,
  account         text not null,
  kind            text not null check (kind in ('grant', 'hold', 'capture', 'give_back', 'refund')),
  available_delta bigint not null,
  held_delta      bigint not null,
  hold            bigint,
  job_id          uuid,
  reference       text,                              -- the caller's name for a grant or refund
  constraint entries_once unique (hold, kind)
);

-- What a person must look at. A client with an onAlert hook is told of each at least once.
create table leasehold.alerts (
  id              bigint generated always as identity primary key,
  at              timestamptz not null,
  severity        text not null check (severity in ('warning', 'critical')),
  code            text not null,
  job_id          uuid,
  message         text not null,
  detail          jsonb not null default '{}',
  told_at         timestamptz,                       -- when a hook had been told
  told_until      timestamptz,                       -- until when a client is about to tell
  acknowledged_at timestamptz,                       -- when a person had seen it
  acknowledged_by text
);

-- The last drain of each trigger, for the operator.
create table leasehold.drains (
  trigger text primary key,
  at      timestamptz not null,
  report  jsonb not null
);

-- When something last happened that happens at most once an interval.
create table leasehold.ticks (
  name    text primary key,
  last_at timestamptz not null
);
-- The library's own names stand here from the start: only the first use of a name may wait.
insert into leasehold.ticks (name, last_at) values
  ('leasehold.prune', '-infinity'), ('leasehold.reap', '-infinity');

-- What a claim hands out. Times as ISO 8601 text in UTC: drivers disagree about timestamptz.
create type leasehold.claimed_job as (
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
  trace_context   jsonb
);

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
  priority        int,
  trace_context   jsonb
);
