-- Credits, ledgers elsewhere and their alerts, and single flight across processes.

alter table leasehold.jobs
  add column money text
    check (money in ('held', 'captured', 'given_back', 'refunded', 'checking', 'charged', 'not_charged', 'unknown')),
  add column cost bigint check (cost between 1 and 9007199254740991),
  add column account text,
  add column external boolean not null default false,
  add column settle_after timestamptz,
  add constraint jobs_cost_has_account check (cost is null or account is not null),
  add constraint jobs_held_while_unfinished check (cost is null or (money = 'held') = (finished_at is null));

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
  id         bigint generated always as identity primary key,
  at         timestamptz not null,
  severity   text not null check (severity in ('warning', 'critical')),
  code       text not null,
  job_id     uuid,
  message    text not null,
  detail     jsonb not null default '{}',
  told_at    timestamptz,                            -- when a hook had been told
  told_until timestamptz                             -- until when a client is about to tell
);


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

-- Single flight across processes: a value under a key, or who is making it at present.
create table leasehold.cache (
  key        text primary key,
  token      uuid,                                   -- of the fill under way; null: there is a value
  value      jsonb,                                  -- JSON's null where that is the value
  since      timestamptz not null,                   -- when the fill began, or the value was stored
  expires_at timestamptz not null,                   -- the end of the fill's lease, or of the value
  constraint cache_fill_or_value check ((token is null) = (value is not null))
);
-- prune: values whose time is over, and fills that nobody came back to.
create index cache_prune on leasehold.cache (expires_at);

-- The first use of a name may wait for another's, so the library's own stand here from the start.
insert into leasehold.ticks (name, last_at) values ('leasehold.reap', '-infinity') on conflict (name) do nothing;
