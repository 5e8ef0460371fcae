/** What the SQL function doctor answers; see docs/sql.md. */
export interface DatabaseFacts {
  readonly at: string;
  readonly server: {
    readonly version: number;
    readonly in_recovery: boolean;
    readonly max_connections: number;
    readonly connections: number;
    readonly autovacuum: boolean;
  };
  readonly session: SessionFacts;
  readonly schema: {
    readonly version: number;
    readonly checksum: string;
    readonly owner: string;
    readonly service_role: boolean | null;
    readonly unsound: readonly { readonly rule: string; readonly id: string }[];
  };
  readonly exposed: readonly string[] | null;
  readonly horizon: Readonly<
    Record<"transaction" | "prepared" | "slot" | "standby", Holder | null>
  >;
  readonly tables: readonly {
    readonly table: string;
    readonly live: number;
    readonly dead: number;
    readonly autovacuum_at: string | null;
    readonly autovacuum_enabled: boolean;
  }[];
  readonly queue: {
    readonly due: number;
    readonly running: number;
    readonly expired: number;
    readonly oldest_due_ms: number | null;
    readonly oldest_expired_ms: number | null;
  };
  readonly kinds: readonly {
    readonly kind: string;
    readonly paused_at: string | null;
    readonly workers: number;
    readonly lease_ms: number | null;
    readonly run_p95_ms: number | null;
    readonly sample: number;
  }[];
  readonly workers: { readonly alive: number; readonly listening: number };
  readonly drains: readonly { readonly trigger: string; readonly at: string }[];
  readonly alerts: { readonly open: number; readonly critical: number };
}

/** What holds for this connection, by its role, its database or its URL. Timeouts of 0 are none. */
export interface SessionFacts {
  readonly role: string;
  readonly statement_timeout_ms: number;
  readonly idle_session_timeout_ms: number;
  readonly idle_in_transaction_session_timeout_ms: number;
  readonly transaction_timeout_ms: number;
  readonly read_only: boolean;
  readonly isolation: string;
  readonly synchronous_commit: boolean;
  /** Of the role's or the database's connections, whichever is nearer; null: none. */
  readonly limit: number | null;
  readonly used: number | null;
}

export interface Holder {
  readonly name: string;
  readonly age_ms: number | null;
  readonly xids: number | null;
}

/** All that is known, from the database and around it. */
export interface Facts {
  readonly database: DatabaseFacts;
  /** The package's own schema. */
  readonly own: { readonly version: number; readonly checksum: string };
  readonly schemaName: string;
  /** How far the database's clock is ahead of this machine's; the trip there and back adds to it. */
  readonly clock: { readonly aheadMs: number; readonly tripMs: number };
  /** Whether a notification arrives: "none" where there is no connection to listen on. */
  readonly notifications: "arrive" | "lost" | "none";
  /** Length of CRON_SECRET; null where it is not set. */
  readonly secretLength: number | null;
  /** What the drain route answers to who brings no secret; null where its address was not given. */
  readonly route: RouteAnswer | null;
}

export interface RouteAnswer {
  readonly url: string;
  /** Null where it can't be reached. */
  readonly status: number | null;
  readonly location: string | null;
  readonly error: string | null;
}
