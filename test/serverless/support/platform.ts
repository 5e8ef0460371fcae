import type { Report } from "./reports.ts";
import { Instance } from "./started-instance.ts";

export type { Instance, Invocation } from "./started-instance.ts";

export interface PlatformOptions {
  /** The folder `app` of the functions. */
  readonly app: URL;
  /** The functions' environment. Nothing of this process's own is passed on but its PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** An invocation that is not over by then is killed with its instance. Default 5,000. */
  readonly limitMs?: number;
  /** The time between SIGTERM and SIGKILL. Default 2,000. */
  readonly graceMs?: number;
}

/** What the platform had to end by force, and why. */
export interface Forced {
  readonly pid: number;
  readonly because: "limit" | "grace";
  readonly path: string;
}

export type Told = Report & { readonly pid: number };

/** See README.md. */
export class Platform {
  /** All that instances have told, in order. */
  readonly told: Told[] = [];
  /** Empty where every function has kept to its times. */
  readonly forced: Forced[] = [];
  readonly instances = new Set<Instance>();
  readonly options: Required<PlatformOptions>;
  readonly #listeners = new Set<(report: Told) => void>();

  constructor(options: PlatformOptions) {
    this.options = { limitMs: 5_000, graceMs: 2_000, ...options };
  }

  /** Starts an instance, with `env` over the platform's, and answers it when it serves. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<Instance> {
    const instance = new Instance(this, env);
    this.instances.add(instance);
    void instance.ended.then(() => this.instances.delete(instance));
    await instance.serves;
    return instance;
  }

  /** The reports of one type, of all instances. */
  toldOf<Type extends Report["type"]>(type: Type): Extract<Told, { type: Type }>[] {
    return this.told.filter((each): each is Extract<Told, { type: Type }> => each.type === type);
  }

  /** Calls `listener` for each report from now on, before anything else happens in this process. */
  onReport(listener: (report: Told) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For instances: notes what they tell. */
  hear(report: Told): void {
    this.told.push(report);
    for (const listener of [...this.#listeners]) listener(report);
  }

  /** Kills all instances. */
  async close(): Promise<void> {
    await Promise.all([...this.instances].map((instance) => instance.kill()));
  }
}
