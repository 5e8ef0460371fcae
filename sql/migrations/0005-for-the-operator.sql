-- What an operator asks for: failures by time, alerts that somebody has seen, the last drains.

create index jobs_failed_at on leasehold.jobs (finished_at)
  where status = 'failed';

alter table leasehold.alerts
  add column acknowledged_at timestamptz,
  add column acknowledged_by text;
create index alerts_open on leasehold.alerts (id)
  where acknowledged_at is null;

-- The last drain of each trigger, for the operator.
create table leasehold.drains (
  trigger text primary key,
  at      timestamptz not null,
  report  jsonb not null
);
