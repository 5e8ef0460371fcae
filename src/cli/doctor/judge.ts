import { readableDuration } from "../readable.ts";
import type { Facts, Holder } from "./facts.ts";
import { critical, type Finding, info, warning } from "./finding.ts";
import { connections, session } from "./judge-connection.ts";

const minute = 60_000;
const hour = 60 * minute;

type Check = (facts: Facts) => Finding[];

/** Every check, in the order in which a person would look. */
const checks: readonly Check[] = [
  server,
  schema,
  rights,
  clock,
  notifications,
  session,
  whoWorks,
  leases,
  expired,
  vacuum,
  deadRows,
  connections,
  secret,
  route,
  alerts,
];

/** What is not as it should be, the worst first; nothing where all is well. */
export function judge(facts: Facts): Finding[] {
  const order = ["critical", "warning", "info"];
  const found = checks.flatMap((check) => check(facts));
  return found.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}

function server({
  database: {
    server: { version, in_recovery },
  },
}: Facts): Finding[] {
  const found: Finding[] = [];
  if (version < 150_000) {
    const text = `PostgreSQL ${Math.floor(version / 10_000)} is older than what leasehold runs on`;
    found.push(critical("server", text, "Upgrade to PostgreSQL 15 or newer."));
  }
  if (in_recovery) {
    const fix = "Give the URL of the primary: nothing can be enqueued or claimed on a standby.";
    found.push(critical("server", "This is a standby", fix));
  }
  return found;
}

function schema({ database, own, schemaName }: Facts): Finding[] {
  const { version, checksum } = database.schema;
  const migrate = `npx leasehold migrate${schemaName === "leasehold" ? "" : ` --schema ${schemaName}`}`;
  if (version < own.version) {
    const text = `The schema has version ${version}, this leasehold wants ${own.version}`;
    return [critical("schema", text, migrate)];
  }
  if (version > own.version) {
    const text = `The schema has version ${version}, which is newer than this leasehold's ${own.version}`;
    return [critical("schema", text, "npm install leasehold@latest, everywhere that uses it")];
  }
  if (checksum === own.checksum) return [];
  const text = "The functions in the database are not those of this leasehold";
  return [warning("schema", text, migrate)];
}

function rights({ database, schemaName }: Facts): Finding[] {
  const {
    exposed,
    schema: { service_role: service },
  } = database;
  const found: Finding[] = [];
  if (service === false) {
    const text = "service_role may not call every function";
    found.push(critical("rights", text, "npx leasehold migrate"));
  }
  if (service !== null && exposed !== null && !exposed.includes(schemaName)) {
    const text = `PostgREST does not serve the schema ${schemaName}: supabase-js can't reach it`;
    const fix = `Add it to the exposed schemas (API settings, or config.toml) if you use leasehold/supabase.`;
    found.push(info("supabase", text, fix));
  }
  return [...found, ...unsound(database)];
}

function unsound(database: Facts["database"]): Finding[] {
  return database.schema.unsound.map(({ rule, id }) => {
    if (rule === "indexes") {
      const fix = `reindex index concurrently ${id};`;
      return critical("indexes", `${id} is an index that is not valid`, fix);
    }
    const text = `${id} is open to public, anon or authenticated, has no row level security, or can be shadowed`;
    return critical("rights", text, "npx leasehold migrate");
  });
}

function clock({ clock: { aheadMs, tripMs } }: Facts): Finding[] {
  const off = Math.max(Math.abs(aheadMs) - tripMs, 0);
  if (off < 2_000) return [];
  const side = aheadMs > 0 ? "ahead of" : "behind";
  const text = `The database's clock is ${readableDuration(off)} ${side} this machine's`;
  const fix =
    "Set both by NTP. Leases go by the database's clock alone; times in logs will not agree.";
  return [off < 30_000 ? info("clock", text, fix) : warning("clock", text, fix)];
}

function notifications({ notifications: come }: Facts): Finding[] {
  if (come !== "lost") return [];
  return [
    warning(
      "pooler",
      "Notifications do not arrive: this is a transaction pooler, or something like it",
      "Give workers a direct connection for listening: --listen-url, or pg(url, { listen }). They poll until then.",
    ),
  ];
}

function whoWorks({ database: { queue, workers, drains, at } }: Facts): Finding[] {
  const waited = queue.oldest_due_ms ?? 0;
  if (waited < 5 * minute) return [];
  const drained = drains.some((drain) => Date.parse(at) - Date.parse(drain.at) < hour);
  const text = `The oldest due job waits for ${readableDuration(waited)}`;
  if (workers.alive === 0 && !drained) {
    const fix = "npx leasehold work FILE, or a cron that calls the drain route: nobody takes jobs.";
    return [
      critical("work", `${text}, no worker is alive, and no drain was told of for an hour`, fix),
    ];
  }
  const fix =
    "Look at `npx leasehold kinds`: is its kind paused, has no worker its handler, are they too few?";
  return [warning("work", text, fix)];
}

function leases({ database: { kinds } }: Facts): Finding[] {
  return kinds.flatMap(({ kind, lease_ms: lease, run_p95_ms: p95, sample }) => {
    if (lease === null || p95 === null || sample < 20 || p95 < lease * 0.8) return [];
    const text = `${kind}: 95 of 100 runs take up to ${readableDuration(p95)} of a lease of ${readableDuration(lease)}`;
    const fix = `Give it a longer one: lease: "${Math.ceil((p95 * 3) / minute)}m". Handlers that block the process renew nothing.`;
    return [warning("leases", text, fix)];
  });
}

function expired({ database: { queue } }: Facts): Finding[] {
  const past = queue.oldest_expired_ms ?? 0;
  if (past < 5 * minute) return [];
  const text = `${queue.expired} jobs are past their lease, the oldest for ${readableDuration(past)}, and nobody has reaped them`;
  return [
    warning(
      "leases",
      text,
      "npx leasehold status ID reaps one; a worker, a drain or any request reaps all.",
    ),
  ];
}

const holders = {
  transaction: "An open transaction",
  prepared: "A prepared transaction",
  slot: "A replication slot",
  standby: "A standby",
} as const;

const ends = {
  transaction: (name: string) => `select pg_terminate_backend(${/\d+/.exec(name)?.[0] ?? "PID"});`,
  prepared: (name: string) => `rollback prepared '${name}';`,
  slot: (name: string) => `select pg_drop_replication_slot('${name}'); if nobody reads it any more`,
  standby: () => "End the long query there, or set hot_standby_feedback off.",
} as const;

function vacuum({ database: { horizon } }: Facts): Finding[] {
  return (Object.keys(holders) as (keyof typeof holders)[]).flatMap((kind) => {
    const holder = horizon[kind];
    if (holder === null || !isOld(holder)) return [];
    const since =
      holder.age_ms === null ? `${holder.xids} transactions` : readableDuration(holder.age_ms);
    const text = `${holders[kind]} (${holder.name}) has kept dead rows from being cleaned up for ${since}`;
    const grave = (holder.age_ms ?? 0) > hour || (holder.xids ?? 0) > 10_000_000;
    return [(grave ? critical : warning)("vacuum", text, ends[kind](holder.name))];
  });
}

function isOld({ age_ms, xids }: Holder): boolean {
  return (age_ms ?? 0) > 10 * minute || (age_ms === null && (xids ?? 0) > 1_000_000);
}

function deadRows({ database: { tables, server } }: Facts): Finding[] {
  const off = tables.filter((table) => !table.autovacuum_enabled || !server.autovacuum);
  const found = off.map(({ table }) =>
    warning(
      "vacuum",
      `autovacuum is off for ${table}`,
      `alter table leasehold.${table} reset (autovacuum_enabled);`,
    ),
  );
  for (const { table, live, dead } of tables) {
    if (dead < 50_000 || dead < live) continue;
    const text = `${table} has ${dead} dead rows to ${live} living ones`;
    found.push(warning("vacuum", text, `vacuum leasehold.${table};`));
  }
  return found;
}

function secret({ secretLength }: Facts): Finding[] {
  if (secretLength === null || secretLength >= 16) return [];
  const text = `CRON_SECRET has ${secretLength} characters, so the drain route is closed`;
  return [warning("route", text, "Set it to at least 16: openssl rand -hex 32")];
}

function route({ route: answered }: Facts): Finding[] {
  if (answered === null) return [];
  const { url, status, location, error } = answered;
  if (status === null) {
    return [
      critical(
        "route",
        `${url} can't be reached: ${error}`,
        "Is the application up, and the address right?",
      ),
    ];
  }
  if (status === 401) return [];
  if (status >= 300 && status < 400) {
    const fix =
      "Except the route from middleware and sign-in: a cron follows no redirect, and would run nothing.";
    return [critical("route", `${url} redirects to ${location}`, fix)];
  }
  if (status < 300) {
    const fix = "It must answer 401 to who brings no secret. Is something else mounted there?";
    return [critical("route", `${url} answers ${status} to anybody`, fix)];
  }
  if (status === 403) {
    return [
      critical(
        "route",
        `${url} is closed: it knows no secret`,
        "Set CRON_SECRET where the application runs.",
      ),
    ];
  }
  return [critical("route", `${url} answers ${status}`, "Mount the routes there: docs/http.md")];
}

function alerts({
  database: {
    alerts: { open, critical: grave },
  },
}: Facts): Finding[] {
  if (open === 0) return [];
  const text = `${open} alerts are open${grave > 0 ? `, ${grave} of them critical` : ""}`;
  return [(grave > 0 ? warning : info)("alerts", text, "npx leasehold alerts")];
}
