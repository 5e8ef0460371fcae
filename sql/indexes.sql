-- Each index is named for the query that it serves.

-- enqueue: one unfinished job per kind and key.
create unique index jobs_unfinished_key on leasehold.jobs (kind, key)
  where key is not null and status in ('queued', 'running');

-- claim: due jobs of a kind by priority, run_after, id, without a sort.
create index jobs_claim on leasehold.jobs (kind, priority, run_after, id)
  where status = 'queued';

-- reap: leases that ran out, jobs not started in time, jobs queued at their maximum (never many).
create index jobs_reap_lease on leasehold.jobs (kind, lease_until)
  where status = 'running';
create index jobs_reap_start_by on leasehold.jobs (kind, start_by)
  where status = 'queued' and start_by is not null;
create index jobs_reap_exhausted on leasehold.jobs (kind)
  where status = 'queued' and attempts >= max_attempts;

-- prune: finished jobs of a kind, oldest first.
create index jobs_prune on leasehold.jobs (kind, finished_at)
  where status in ('completed', 'failed', 'cancelled');

-- list: failed jobs, newest first, among millions of completed ones.
create index jobs_list_failed on leasehold.jobs (id)
  where status = 'failed';

-- overview: what failed of late.
create index jobs_failed_at on leasehold.jobs (finished_at)
  where status = 'failed';

create index job_events_of_job on leasehold.job_events (job_id, id);

-- measures: leases that ran out, and writes that were refused, by time.
create index job_events_lapses on leasehold.job_events (at)
  where event = 'refused' or event = 'reaped' and code = 'LEASE_EXPIRED';

-- prune: names whose time is over.
create index once_prune on leasehold.once (expires_at);

-- prune: values whose time is over, and fills that nobody came back to.
create index cache_prune on leasehold.cache (expires_at);

-- credits, verify_credits: what is held of an account.
create index holds_open on leasehold.holds (account) include (amount)
  where state = 'held';

-- entries: an account's history, newest first.
create index entries_of_account on leasehold.entries (account, id);

-- A hold ends once, one way or the other; a reference counts once for an account or a job.
create unique index entries_hold_end on leasehold.entries (hold)
  where kind in ('capture', 'give_back');
create unique index entries_grant_reference on leasehold.entries (account, reference)
  where kind = 'grant';
create unique index entries_refund_reference on leasehold.entries (job_id, reference)
  where kind = 'refund';

-- claim_alerts: what nobody has been told of.
create index alerts_untold on leasehold.alerts (id)
  where told_at is null;

-- overview, alerts: what nobody has acknowledged.
create index alerts_open on leasehold.alerts (id)
  where acknowledged_at is null;
