-- For traces and metrics: the context of whoever enqueued a job, which each claim hands out; and what went
-- wrong with leases, by time.

alter table leasehold.jobs add column trace_context jsonb;
alter type leasehold.claimed_job add attribute trace_context jsonb;
alter type leasehold.finished_and_claimed add attribute trace_context jsonb;

create index job_events_lapses on leasehold.job_events (at)
  where event = 'refused' or event = 'reaped' and code = 'LEASE_EXPIRED';
