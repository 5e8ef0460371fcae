import { z } from "zod";
import type { Database } from "../../../src/database.ts";
import { type HttpOptions, http } from "../../../src/http/index.ts";
import { defineJob, type Handled, handle } from "../../../src/index.ts";
import { client, type TestClient } from "../../drain/support/client.ts";
import type { TestDatabase } from "../../support/databases.ts";

export const origin = "https://app.example";
export const secret = "a secret for tests";
export const unknownId = "0198a0b4-0000-7000-8000-000000000000";

/** A job that waits for a worker: what was started stays as it was. */
export const assess = defineJob("assess", {
  payload: z.object({ address: z.string().min(1) }),
  key: (payload) => payload.address,
  startIn: "worker",
});

export type Body = NonNullable<ConstructorParameters<typeof Response>[0]>;

export interface Asked {
  method?: string;
  /** Who asks: an owner, "admin", or nobody. */
  user?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  body?: Body;
}

export interface Routes {
  readonly leasehold: TestClient;
  readonly handler: ReturnType<typeof http>;
  /** One request below the base path, straight to the handler. */
  ask(path: string, asked?: Asked): Promise<Response>;
}

type Given = Partial<HttpOptions> & { handlers?: Handled[] };

/** The routes over a database; who asks is told by the header x-user. */
export function routes(database: Database, { handlers, ...given }: Given = {}): Routes {
  const leasehold = client(database, ...(handlers ?? [handle(assess, () => ({ safe: true }))]));
  const options = { jobs: [assess], authorize, secret, ...given, leasehold };
  const handler = http(options as HttpOptions);
  const ask = (path: string, asked?: Asked) =>
    handler(requestTo(`${origin}/api/leasehold${path}`, asked));
  return { leasehold, handler, ask };
}

export function requestTo(url: string, { user, json, ...asked }: Asked = {}): Request {
  const headers = {
    ...(user !== undefined && { "x-user": user }),
    ...(json !== undefined && { "content-type": "application/json" }),
    ...asked.headers,
  };
  const body = json === undefined ? asked.body : JSON.stringify(json);
  const method = asked.method ?? (body === undefined ? "GET" : "POST");
  return new Request(url, { method, headers, ...(body !== undefined && { body, duplex: "half" }) });
}

export const authorize: HttpOptions["authorize"] = (request) => {
  const user = request.headers.get("x-user");
  if (user === null) return null;
  return user === "admin" ? { admin: true } : { owner: user };
};

/** The rows of all jobs, oldest first. */
// biome-ignore lint/suspicious/noExplicitAny: rows of the table.
export const jobsOf = (db: TestDatabase): Promise<Record<string, any>[]> =>
  db.query(`select * from ${db.quotedSchema}.jobs order by id`);

/** All that a caller can tell of an answer. */
export async function seen(response: Response) {
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return { status: response.status, headers, body: await response.text() };
}
