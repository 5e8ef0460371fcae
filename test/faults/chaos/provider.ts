import type { Settlement } from "leasehold";
import pg from "pg";

/**
 * A payment provider: a database of its own that knows nothing of leasehold. It charges once per key,
 * as providers do, and can be made unreachable.
 */
const providerSql = `
create table charges (key text primary key, charged_at timestamptz not null default clock_timestamp(),
  refunded_at timestamptz);
create table state (reachable boolean not null);
insert into state values (true);
create function reach() returns void language plpgsql as $$
begin
  if not (select reachable from state) then
    raise exception 'the provider is down' using errcode = '58000';
  end if;
end $$;
create function charge(p_key text) returns void language plpgsql as $$
begin
  perform reach();
  insert into charges (key) values (p_key) on conflict do nothing;
end $$;
create function look_up(p_key text) returns text language plpgsql as $$
begin
  perform reach();
  return coalesce((select case when refunded_at is null then 'charged' else 'refunded' end
    from charges where key = p_key), 'none');
end $$;
create function refund(p_key text) returns void language plpgsql as $$
begin
  perform reach();
  update charges set refunded_at = coalesce(refunded_at, clock_timestamp()) where key = p_key;
end $$;
`;

export async function createProvider(pool: pg.Pool): Promise<void> {
  await pool.query(providerSql);
}

export interface Provider extends Required<Settlement> {
  charge(key: string): Promise<void>;
  close(): Promise<void>;
}

/** A client of the provider's. Its connections lead past the proxies: it is another's service. */
export function openProvider(url: string): Provider {
  const pool = new pg.Pool({
    connectionString: url,
    max: 2,
    connectionTimeoutMillis: 3_000,
    query_timeout: 3_000,
    allowExitOnIdle: true,
  });
  pool.on("error", () => undefined);
  const ask = async (name: string, key: string) =>
    (await pool.query(`select ${name}($1) as answer`, [key])).rows[0].answer;
  return {
    charge: (key) => ask("charge", key),
    lookup: (key) => ask("look_up", key),
    refund: (key) => ask("refund", key),
    close: () => pool.end(),
  };
}
