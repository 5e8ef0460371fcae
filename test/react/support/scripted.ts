import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type JobView,
} from "../../../src/react/index.ts";
import { view } from "./server.ts";

/** One answer of a scripted server: an HTTP status with its headers, or no answer at all. */
export type Scripted =
  | { status?: number; job?: Partial<JobView>; headers?: Record<string, string>; text?: string }
  | "no answer"
  | "never";

export interface ScriptedServer {
  readonly connection: Connection;
  /** When each request came, in milliseconds since the first one; by the fake clock. */
  readonly times: number[];
  readonly requests: { url: string; init: RequestInit }[];
  /** Which were aborted, by their number. */
  readonly aborted: number[];
}

/**
 * A server without sockets, for rules about time: it answers by `script`, the last entry again and
 * again. Where time plays no part, the tests talk to a real one.
 */
export function scripted(script: Scripted[], options: ConnectionOptions = {}): ScriptedServer {
  const times: number[] = [];
  const requests: ScriptedServer["requests"] = [];
  const aborted: number[] = [];
  let began = 0;
  const connection = createConnection({
    ...options,
    fetch: async (url, init) => {
      const number = requests.push({ url, init }) - 1;
      if (number === 0) began = Date.now();
      times.push(Date.now() - began);
      init.signal?.addEventListener("abort", () => aborted.push(number));
      return reply(script[Math.min(number, script.length - 1)] ?? {}, url, init);
    },
  });
  return { connection, times, requests, aborted };
}

function reply(entry: Scripted, url: string, init: RequestInit): Response | Promise<Response> {
  if (entry === "no answer") throw new TypeError("fetch failed");
  if (entry === "never") {
    return new Promise((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
  }
  const { status = 200, headers = {}, job = {} } = entry;
  const id = decodeURIComponent(url.split("/").at(-1) ?? "");
  const text = entry.text ?? (status === 304 ? null : JSON.stringify(view(id, job)));
  return new Response(text, { status, headers });
}
