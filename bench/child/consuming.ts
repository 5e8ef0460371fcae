import type { Consumer, Contender } from "../contenders/contender.ts";
import { nowMs, pause } from "./clock.ts";
import type { ConsumerGiven, ToParent, Used } from "./protocol.ts";
import { type Runs, Tally } from "./tally.ts";

/** How often the parent is told how many jobs have run, and the memory is looked at. */
const tellEveryMs = 10;

/** The consumer's side of a child. */
export class Consuming {
  readonly #contender: Contender;
  readonly #tell: (message: ToParent) => void;
  #tally = new Tally({ times: false });
  #consumer: Consumer | undefined;
  #told = 0;
  #peakMb = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #cpuAtGo = process.cpuUsage();
  #go: () => void = () => undefined;
  #first: () => void = () => undefined;
  #firstJob: Promise<void> = Promise.resolve();

  constructor(contender: Contender, tell: (message: ToParent) => void) {
    this.#contender = contender;
    this.#tell = tell;
  }

  async open({ url, kinds, best, handlerMs, held, times }: ConsumerGiven): Promise<void> {
    this.#tally = new Tally({ times });
    this.#firstJob = new Promise((resolve) => {
      this.#first = resolve;
    });
    let gate: Promise<void> | undefined;
    if (held) {
      gate = new Promise<void>((resolve) => {
        this.#go = resolve;
      }).then(() => {
        gate = undefined;
      });
    }
    const work = handlerMs > 0 ? () => pause(handlerMs) : () => undefined;
    const run = (n: number): void | Promise<void> => {
      this.#tally.add(n);
      this.#first();
      return gate === undefined ? work() : gate.then(work);
    };
    this.#timer = setInterval(() => this.#look(), tellEveryMs);
    this.#consumer = await this.#contender.consumer(url, { kinds, best, run });
    this.#cpuAtGo = process.cpuUsage();
  }

  firstJob(withinMs: number): Promise<boolean> {
    return Promise.race([this.#firstJob.then(() => true), pause(withinMs).then(() => false)]);
  }

  go(): { inHand: number } {
    this.#cpuAtGo = process.cpuUsage();
    this.#go();
    return { inHand: this.#tally.ran };
  }

  async stop(): Promise<Used> {
    this.#look();
    await this.#consumer?.stop();
    const stoppedMs = nowMs();
    const { user, system } = process.cpuUsage(this.#cpuAtGo);
    clearInterval(this.#timer);
    this.#look();
    return { stoppedMs, cpuSeconds: (user + system) / 1e6, peakMb: this.#peakMb };
  }

  runs(): Runs {
    return this.#tally.runs();
  }

  #look(): void {
    const mb = process.memoryUsage.rss() / 1e6;
    this.#peakMb = Math.max(this.#peakMb, mb);
    if (this.#tally.ran === this.#told) return;
    this.#told = this.#tally.ran;
    this.#tell({ ran: this.#told, atMs: nowMs(), mb });
  }
}
