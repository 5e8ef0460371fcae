import { badRequest } from "./query.ts";

const names = ["kind", "key", "owner", "error_code"] as const;
const statuses = ["queued", "running", "completed", "failed", "cancelled"];

/** Which jobs, in the words of the SQL functions. */
export interface Filter {
  kind?: string;
  key?: string;
  owner?: string;
  error_code?: string;
  status?: string[];
}

/** The filter that the URL, or a body, asks for; what is absent or empty names all. */
export function filterOf(read: (name: string) => unknown): Filter {
  const filter: Filter = {};
  for (const name of names) {
    const value = read(name);
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string") throw badRequest(`${name} must be text.`);
    filter[name] = value;
  }
  const status = read("status");
  if (status === undefined || status === null || status === "") return filter;
  if (typeof status !== "string" || !statuses.includes(status)) {
    throw badRequest(`status must be one of ${statuses.join(", ")}.`);
  }
  filter.status = [status];
  return filter;
}
