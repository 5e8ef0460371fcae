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

create index job_events_of_job on leasehold.job_events (job_id, id);

-- prune: names whose time is over.
create index once_prune on leasehold.once (expires_at);
