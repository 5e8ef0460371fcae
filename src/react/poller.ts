import type { Connection } from "./connection.ts";
import { isSettled, type JobView } from "./job-view.ts";
import { isHidden, watchPage } from "./page.ts";
import { pauseMs } from "./pause.ts";
import { type Answer, fetchJob } from "./request.ts";
import { JobRequestError } from "./request-error.ts";

/** What is known of a job at one moment. The same object as long as nothing has changed. */
export interface JobSnapshot {
  readonly job: JobView | null;
  /** Of the last request, beside the last value; null when that one was answered. */
  readonly error: JobRequestError | null;
  /** Whether it will be asked for again: false when it is settled, or a final error came. */
  readonly isPolling: boolean;
}

/** Before the first answer. */
export const unasked: JobSnapshot = { job: null, error: null, isPolling: true };

interface Asking {
  readonly abort: AbortController;
  done: Promise<void>;
}

/** Asks for one job again and again, for everyone who wants to know, until it is settled. */
export class Poller {
  readonly #connection: Connection;
  readonly #id: string;
  readonly #onClose: () => void;
  readonly #listeners = new Set<() => void>();
  #snapshot = unasked;
  #last: Answer | null = null;
  #asking: Asking | null = null;
  /** How often it was asked since the pauses began to grow. */
  #asked = 0;
  /** When a server that refused may be asked again, by this machine's clock. */
  #refusedUntil = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unwatch: (() => void) | undefined;

  constructor(connection: Connection, id: string, onClose: () => void) {
    this.#connection = connection;
    this.#id = id;
    this.#onClose = onClose;
  }

  get snapshot(): JobSnapshot {
    return this.#snapshot;
  }

  /** `listener` is called after each change of the snapshot. Answers how to stop that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#unwatch === undefined) {
      this.#unwatch = watchPage(() => this.#onPage());
      if (!isHidden()) void this.#ask();
    }
    return () => {
      this.#listeners.delete(listener);
      // A moment later: StrictMode, and one component that takes another's place, subscribe again in
      // the same breath, and should find the value and the request under way.
      queueMicrotask(() => this.#closeIfUnwanted());
    };
  }

  /**
   * Asks now, hidden page or not, and begins with short pauses again. A request under way is dropped:
   * its answer may be older than the caller's reason to ask. Resolves with the answer or the error.
   */
  refresh(): Promise<void> {
    this.#asked = 0;
    return this.#ask();
  }

  #closeIfUnwanted(): void {
    if (this.#listeners.size > 0 || this.#unwatch === undefined) return;
    this.#unwatch();
    this.#unwatch = undefined;
    clearTimeout(this.#timer);
    this.#asking?.abort.abort();
    this.#asking = null;
    this.#onClose();
  }

  #onPage(): void {
    clearTimeout(this.#timer);
    if (isHidden() || !this.#snapshot.isPolling) return;
    const refusedForMs = this.#refusedUntil - Date.now();
    if (refusedForMs > 0) this.#wait(refusedForMs);
    else void this.#ask();
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    if (!isHidden()) this.#timer = setTimeout(() => void this.#ask(), ms);
  }

  #ask(): Promise<void> {
    clearTimeout(this.#timer);
    this.#asking?.abort.abort();
    const asking: Asking = { abort: new AbortController(), done: Promise.resolve() };
    this.#asking = asking;
    asking.done = this.#request(asking);
    return asking.done;
  }

  async #request(asking: Asking): Promise<void> {
    const { signal } = asking.abort;
    const answer = await fetchJob(this.#connection, this.#id, this.#last, signal).catch(asError);
    // Overtaken by a newer request, or nobody wants to know any more.
    if (this.#asking !== asking) return this.#asking?.done;
    this.#asking = null;
    if (answer instanceof JobRequestError) this.#onError(answer);
    else this.#onAnswer(answer);
  }

  #onAnswer(answer: Answer): void {
    this.#last = answer;
    this.#refusedUntil = 0;
    this.#goOn({ job: answer.job, error: null, isPolling: !isSettled(answer.job) }, answer);
  }

  #onError(error: JobRequestError): void {
    this.#refusedUntil = Date.now() + error.retryAfterMs;
    this.#goOn({ job: this.#snapshot.job, error, isPolling: !error.isFinal }, error);
  }

  #goOn(next: JobSnapshot, { retryAfterMs }: { readonly retryAfterMs: number }): void {
    if (next.isPolling) this.#wait(pauseMs(this.#connection, this.#asked, retryAfterMs));
    this.#asked += 1;
    const { job, error, isPolling } = this.#snapshot;
    if (job === next.job && error === next.error && isPolling === next.isPolling) return;
    this.#snapshot = next;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Whatever a request rejects with, the abort's reason included: that one is never looked at. */
function asError(thrown: unknown): JobRequestError {
  if (thrown instanceof JobRequestError) return thrown;
  return new JobRequestError({
    code: "NETWORK",
    message: String(thrown),
    status: null,
    cause: thrown,
  });
}
