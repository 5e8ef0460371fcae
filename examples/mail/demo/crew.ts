import type { ChildProcess } from "node:child_process";
import { stopMessage, type WorkerReport, type WorkerSettings } from "../protocol.ts";
import type { Journal } from "./journal.ts";
import { type Exit, exitOf, start } from "./processes.ts";

type CommonSettings = Omit<WorkerSettings, "name">;

interface Member {
  readonly child: ChildProcess;
  readonly ended: Promise<Exit>;
  /** Whether its end is wanted. */
  leaving: boolean;
}

/** The workers, each a process. What they report goes into the journal. */
export class Crew {
  /** Rejects when a worker ends that nobody told to. */
  readonly trouble: Promise<never>;
  readonly exits = new Map<string, Exit>();
  readonly #members = new Map<string, Member>();
  readonly #journal: Journal;
  readonly #settings: Promise<CommonSettings>;
  #report: (error: Error) => void = () => {};
  #begin: (settings: CommonSettings) => void = () => {};

  constructor(journal: Journal) {
    this.#journal = journal;
    this.#settings = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.trouble = new Promise((_, reject) => {
      this.#report = reject;
    });
    this.trouble.catch(() => {}); // whoever races with it is told
  }

  /** Starts one more worker and answers its name. It loads its modules, and works after `begin`. */
  hire(): string {
    const name = `worker-${this.#members.size + 1}`;
    const child = start("worker.ts");
    const member: Member = { child, ended: exitOf(child), leaving: false };
    this.#members.set(name, member);
    child.on("message", (report) => {
      this.#journal.write({ ...(report as WorkerReport), worker: name });
    });
    void this.#settings.then((settings) => tell(child, { ...settings, name }));
    void member.ended.then((exit) => {
      this.exits.set(name, exit);
      if (!member.leaving) this.#report(new Error(`${name} ended by itself: ${exitText(exit)}.`));
    });
    return name;
  }

  /** Tells all workers, those hired later too, where to work. */
  begin(settings: CommonSettings): void {
    this.#begin(settings);
  }

  /** SIGSTOP takes a worker's time away, SIGCONT gives it back. */
  signal(name: string, signal: "SIGSTOP" | "SIGCONT"): void {
    this.#member(name).child.kill(signal);
  }

  /** Kills a worker as an operating system does that has run out of memory. */
  async kill(name: string): Promise<Exit> {
    const member = this.#member(name);
    member.leaving = true;
    member.child.kill("SIGKILL");
    return member.ended;
  }

  /** Tells all workers to stop and waits until they have ended. */
  async dismiss(): Promise<void> {
    const members = [...this.#members.values()];
    for (const member of members) {
      member.leaving = true;
      tell(member.child, stopMessage);
    }
    await Promise.all(members.map(({ ended }) => ended));
  }

  /** Ends what still runs, at once. */
  async killAll(): Promise<void> {
    await Promise.all([...this.#members.keys()].map((name) => this.kill(name)));
  }

  #member(name: string): Member {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`There is no worker ${JSON.stringify(name)}.`);
    return member;
  }
}

export function exitText({ code, signal }: Exit): string {
  return signal === null ? `exit code ${code}` : signal;
}

/** A worker may be dead by now; that is told by its end. */
function tell(child: ChildProcess, message: WorkerSettings | typeof stopMessage): void {
  if (child.connected) child.send(message, () => {});
}
