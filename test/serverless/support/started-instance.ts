import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { deferred } from "../../drain/support/client.ts";
import type { Forced, Platform } from "./platform.ts";
import type { Report } from "./reports.ts";

const processFile = new URL("instance.ts", import.meta.url);

const platformEnv = {
  PATH: process.env.PATH,
  NODE_ENV: "production",
  NEXT_RUNTIME: "nodejs",
  VERCEL: "1",
};

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each route has its own shape.
  readonly body: any;
}

export interface Invocation {
  /** Resolves when the request has come in, or the instance is dead. Never rejects. */
  readonly begun: Promise<void>;
  /** Rejects where the instance dies before it has answered, or `init.signal` aborts. */
  readonly response: Promise<Answer>;
  /** Resolves when the platform has nothing to wait for any more: over, or dead. Never rejects. */
  readonly over: Promise<void>;
}

/** One process that serves the functions. */
export class Instance {
  /** By which its connections are known in pg_stat_activity. */
  readonly name = `instance-${randomUUID()}`;
  readonly serves: Promise<void>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #platform: Platform;
  readonly #process: ChildProcess;
  /** What marks the stages of each invocation under way. */
  readonly #underWay = new Map<string, { begin(): void; end(): void }>();
  #invocations = 0;
  #port = 0;
  #frozen: "no" | "idle" | "by the test" = "no";
  #ending = false;
  #dead = false;
  #output = "";

  constructor(platform: Platform, ownEnv: Readonly<Record<string, string>>) {
    const { app, env } = platform.options;
    this.#platform = platform;
    this.#process = fork(processFile, [fileURLToPath(app)], {
      execArgv: ["--import", import.meta.resolve("jiti/register")],
      env: { ...platformEnv, PGAPPNAME: this.name, ...env, ...ownEnv },
      silent: true,
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    }
    this.#process.on("message", (report: Report) => this.#hear(report));
    this.ended = new Promise((resolve) => {
      this.#process.once("close", (code, signal) => {
        this.#dead = true;
        for (const { begin, end } of [...this.#underWay.values()]) {
          begin();
          end();
        }
        resolve({ code, signal });
      });
    });
    this.serves = new Promise((resolve, reject) => {
      const stop = platform.onReport((report) => {
        if (report.type !== "serves" || report.pid !== this.pid) return;
        stop();
        resolve();
      });
      void this.ended.then(() => reject(new Error(`The instance ended early: ${this.#output}`)));
    });
    this.serves.catch(() => undefined);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** What it has written to its streams. */
  get output(): string {
    return this.#output;
  }

  /** Sends a request; an instance that is frozen without work is thawed for it. */
  invoke(path: string, init: RequestInit = {}): Invocation {
    const id = `${this.pid}.${++this.#invocations}`;
    const stages = this.#await(id, path);
    const response = this.#send(id, path, init);
    response.catch(() => undefined); // whoever waits for it is told all the same
    return { response, ...stages };
  }

  /** Says a word to the functions; see `word` of reports.ts. */
  say(word: string): void {
    this.#process.send(word);
  }

  /** Ends it as a crash does. Resolves when it is dead. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.ended;
  }

  /** Tells it to end, and waits for that; kills it where the platform's grace was too short for it. */
  async terminate(): Promise<void> {
    this.#ending = true;
    this.#thaw("idle");
    this.#process.kill("SIGTERM");
    const timer = setTimeout(() => this.#force("grace", "SIGTERM"), this.#platform.options.graceMs);
    await this.ended;
    clearTimeout(timer);
  }

  /** Stops it in the middle of what it does, until `thaw`. */
  freeze(): void {
    this.#frozen = "by the test";
    this.#process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#thaw("by the test");
  }

  #thaw(how: "idle" | "by the test"): void {
    if (this.#frozen !== how) return;
    this.#frozen = "no";
    this.#process.kill("SIGCONT");
  }

  #hear(report: Report): void {
    if (report.type === "serves") this.#port = report.port;
    if (report.type === "begins") this.#underWay.get(report.invocation)?.begin();
    if (report.type === "over") this.#underWay.get(report.invocation)?.end();
    this.#platform.hear({ ...report, pid: this.pid });
  }

  async #send(id: string, path: string, init: RequestInit): Promise<Answer> {
    const headers = new Headers(init.headers);
    headers.set("x-invocation", id);
    const url = new URL(path, `http://127.0.0.1:${this.#port}`);
    const response = await fetch(url, { ...init, headers });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  }

  #await(id: string, path: string): Omit<Invocation, "response"> {
    this.#thaw("idle");
    const [begun, over] = [deferred(), deferred()];
    const timer = setTimeout(() => this.#force("limit", path), this.#platform.options.limitMs);
    const end = (): void => {
      clearTimeout(timer);
      this.#underWay.delete(id);
      if (this.#underWay.size === 0) this.#freezeIdle();
      over.resolve();
    };
    this.#underWay.set(id, { begin: begun.resolve, end });
    if (this.#dead) {
      begun.resolve();
      end();
    }
    return { begun: begun.promise, over: over.promise };
  }

  /** Whatever it still does, nothing is waited for: on the platform it does no more. */
  #freezeIdle(): void {
    if (this.#frozen !== "no" || this.#ending || !this.#process.connected) return;
    this.#frozen = "idle";
    this.#process.kill("SIGSTOP");
  }

  #force(because: Forced["because"], path: string): void {
    this.#platform.forced.push({ pid: this.pid, because, path });
    this.#process.kill("SIGKILL");
  }
}
