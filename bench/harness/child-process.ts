import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { CallName, Given, ToChild, ToParent, Value } from "../child/protocol.ts";
import type { NodeCommand } from "./node.ts";

const main = fileURLToPath(new URL("../child/main.ts", import.meta.url));

/** So much of what a child printed is shown when it crashes. */
const shownCharacters = 4_000;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The parent's side of a child. Its crash rejects what it was asked, with what it printed. */
export class Child {
  /** How many jobs its consumer has begun so far. */
  ran = 0;
  /** Called at each word of it. */
  onRan: (atMs: number, mb: number) => void = () => undefined;
  /** Called when it crashes, whether it was asked anything or not. */
  onCrash: (error: Error) => void = () => undefined;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #printed = "";
  #crash: Error | undefined;
  #killed = false;
  #lastId = 0;

  constructor(contender: string, node: NodeCommand, env: Record<string, string>) {
    this.#process = spawn(node.program, [...node.arguments, main], {
      env: { ...process.env, NODE_NO_WARNINGS: "1", ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.#printed = (this.#printed + chunk.toString()).slice(-shownCharacters);
      });
    }
    this.#process.on("message", (message: ToParent) => this.#heard(message));
    this.#process.once("error", (error) => this.#crashed(error.message));
    // Not at its exit: what it printed last may still be on the way then.
    this.#process.once("close", (code, signal) => this.#crashed(`ended with ${code ?? signal}`));
    this.#send({ load: contender });
  }

  /** Rejects with what the call throws there, and when the child crashes. */
  call<Name extends CallName>(name: Name, given: Given<Name>): Promise<Value<Name>> {
    if (this.#crash) return Promise.reject(this.#crash);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as Value<Name>), reject });
      this.#send({ id, call: name, given });
    });
  }

  /** Resolves when it is gone. */
  kill(): Promise<void> {
    this.#killed = true;
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) {
      return Promise.resolve();
    }
    const gone = new Promise<void>((resolve) => this.#process.once("exit", () => resolve()));
    this.#process.kill("SIGKILL");
    return gone;
  }

  #send(message: ToChild): void {
    this.#process.send(message, (error) => {
      if (error) this.#crashed(error.message);
    });
  }

  #heard(message: ToParent): void {
    if ("ran" in message) {
      this.ran = message.ran;
      this.onRan(message.atMs, message.mb);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ("error" in message) waiting?.reject(new Error(message.error));
    else waiting?.resolve(message.value);
  }

  #crashed(how: string): void {
    if (this.#crash) return;
    this.#crash = new Error(`A child ${how}. It printed:\n${this.#printed}`);
    for (const { reject } of this.#waiting.values()) reject(this.#crash);
    this.#waiting.clear();
    if (!this.#killed) this.onCrash(this.#crash);
  }
}
