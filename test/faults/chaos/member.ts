import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { WorkerHealth } from "leasehold";
import type { TcpProxy } from "../../support/tcp-proxy.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** What stays of a member of the crew when its process is replaced. */
export interface Place {
  readonly name: string;
  readonly role: "worker" | "drainer";
  readonly driver: "pg" | "postgres";
  /** Its own way to the database. */
  readonly proxy: TcpProxy;
  readonly environment: Readonly<Record<string, string>>;
}

/** Words that no process may write: a leak of listeners, a promise that nobody awaited. */
const scandals = /MaxListenersExceeded|unhandledRejection|Unhandled|Uncaught/i;

const running = new Set<ChildProcess>();

// However this process ends: a frozen child would stay for ever, and only SIGKILL ends it.
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** One child process at a place, from its start to its end. */
export class Member {
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #place: Place;
  readonly #blame: (what: string) => void;
  /** What we did to it, once we did: its end is wanted then. */
  #wanted: "killed" | "told" | undefined;
  #said = "";

  /** `blame` hears of an end that nobody wanted, and of warnings. */
  constructor(place: Place, clockMs: number, blame: (what: string) => void) {
    this.#place = place;
    this.#blame = blame;
    const file = fileURLToPath(new URL(`./children/${place.role}.ts`, import.meta.url));
    this.#child = spawn(process.execPath, ["--import", "jiti/register", file], {
      cwd: repository,
      env: { ...process.env, ...place.environment, CHAOS_CLOCK_MS: String(clockMs) },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text) => this.#hear(text));
    this.#child.on("error", (error) => this.#blame(`${place.name}: ${error.message}`));
    running.add(this.#child);
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        running.delete(this.#child);
        this.#judge(code, signal);
        resolve();
      });
    });
  }

  kill(): Promise<void> {
    this.#wanted = "killed";
    this.#child.kill("SIGKILL");
    return this.ended;
  }

  /** SIGTERM, as a platform sends it; it must have ended long before the platform loses patience. */
  async terminate(): Promise<void> {
    this.#wanted ??= "told";
    this.#child.kill("SIGTERM");
    const patience = setTimeout(() => {
      this.#blame(`${this.#place.name} (${this.#place.driver}) had not ended 60 s after SIGTERM`);
      void this.kill();
    }, 60_000);
    await this.ended;
    clearTimeout(patience);
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** How the worker says that it is; undefined where it does not answer within 5 s. */
  health(): Promise<WorkerHealth | undefined> {
    return new Promise((resolve) => {
      const hear = (health: unknown) => {
        clearTimeout(timer);
        resolve(health as WorkerHealth);
      };
      const timer = setTimeout(() => {
        this.#child.off("message", hear);
        resolve(undefined);
      }, 5_000);
      this.#child.once("message", hear);
      if (this.#child.connected) this.#child.send("health", () => undefined);
    });
  }

  #hear(text: string): void {
    this.#said = (this.#said + text).slice(-2_000);
    if (scandals.test(text)) this.#blame(`${this.#place.name} wrote: ${text.trim().slice(0, 500)}`);
  }

  /** Whoever is told to end does so by itself, or by the signal that leasehold sends it again. */
  #judge(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#wanted === "killed") return;
    if (this.#wanted === "told" && (code === 0 || signal === "SIGTERM")) return;
    const how = signal ?? `exit code ${code}`;
    const when = this.#wanted === "told" ? "at SIGTERM" : "by itself";
    this.#blame(`${this.#place.name} ended ${when}: ${how} ${this.#said.trim().slice(-500)}`);
  }
}
