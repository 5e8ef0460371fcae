import { load } from "./load.ts";

/** What is used of node-postgres, in the version that the rivals use. */
interface Pg {
  readonly Pool: new (options: object) => Pool;
  readonly Client: new (options: object) => Client;
}

export interface Pool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>;
  connect(): Promise<Client & { release(): void }>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "connect", listener: (client: Client) => void): void;
}

export interface Client {
  connect(): Promise<void>;
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): void;
}

type Row = Record<string, unknown>;

/** A pool of at most so many connections. */
export function openPool(url: string, max: number): Pool {
  const pool = new (load<Pg>("pg").Pool)({ connectionString: url, max });
  pool.on("error", (error) => console.error(error));
  pool.on("connect", (client) => client.on("error", (error) => console.error(error)));
  return pool;
}

/** Resolves when no statement runs and none waits. */
export async function atRest(pool: Pool): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, 5));
  while (pool.waitingCount > 0 || pool.idleCount < pool.totalCount);
}

/** Runs statements on a connection of its own. */
export async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new (load<Pg>("pg").Client)({ connectionString: url });
  client.on("error", () => undefined); // the query that fails says it
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** The number that a statement answers in its one row, as its one column. */
export function ask(url: string, text: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query(text);
    return Number(Object.values(rows[0] ?? {})[0]);
  });
}
