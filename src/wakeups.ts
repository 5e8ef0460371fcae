import { Alarm } from "./alarm.ts";
import type { ClientParts } from "./client-parts.ts";
import type { Arguments, Listening } from "./database.ts";
import { briefly } from "./describe-error.ts";
import { LeaseholdError } from "./errors.ts";
import type { FunctionName } from "./functions.ts";
import { inTime } from "./in-time.ts";
import { nthWait } from "./waits.ts";

export interface WakeupHooks {
  /** A job of this kind is due `delayMs` from now. */
  onDue(kind: string, delayMs: number): void;
  /** It listens from now on, or does not any more. */
  onChange(): void;
}

/** A connection that keeps an answer for so long is taken for dead, whatever its socket says. */
const answerWithinMs = 5_000;

const connectWithinMs = 15_000;

/** A pool whose connections are all in use may keep a call waiting. */
const callWithinMs = 30_000;

/** The waits before it connects again, in milliseconds; the last one is repeated. */
const againMs = [100, 500, 1_000, 5_000, 10_000, 30_000];

/** Where LISTEN works and nothing arrives, something between swallows it, and will for long. */
const unheardAgainMs = 10 * 60_000;

/**
 * The one connection on which a worker hears of new jobs. It is made again when it is lost, for as
 * long as that takes, with one warning a loss; meanwhile, and where the database has none to give,
 * the worker polls.
 */
export class Wakeups {
  readonly #parts: Pick<ClientParts, "database" | "log" | "events">;
  readonly #hooks: WakeupHooks;
  readonly #alarm = new Alarm();
  #connection: Listening | undefined;
  #lose: (error: Error) => void = () => undefined;
  #heard: (token: string) => void = () => undefined;
  #listening = false;
  #stopped = false;
  #warned = false;
  #toldUnheard = false;
  #kept: Promise<void> | undefined;

  constructor(parts: Pick<ClientParts, "database" | "log" | "events">, hooks: WakeupHooks) {
    this.#parts = parts;
    this.#hooks = hooks;
  }

  /** Whether notifications arrive at present. */
  get listening(): boolean {
    return this.#listening;
  }

  start(): void {
    if (this.#parts.database.listen !== undefined) this.#kept = this.#keep();
  }

  /** Ends the connection. Never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#lose(new Error("the worker stops"));
    this.#alarm.ring();
    await this.#kept;
  }

  /**
   * Calls a function on the listening connection, which proves that it is alive: where no answer
   * comes, the connection is given up and made anew. Rejects also where there is none.
   */
  async call(name: FunctionName, args: Arguments): Promise<unknown> {
    const connection = this.#connection;
    if (connection === undefined || !this.#listening) throw new Error("it does not listen");
    if (connection.local) return connection.call(name, args);
    try {
      return await inTime(connection.call(name, args), answerWithinMs);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) this.#lose(error as Error);
      throw error;
    }
  }

  async #keep(): Promise<void> {
    for (let failures = 0; !this.#stopped; failures += 1) {
      let waitMs: number | undefined;
      try {
        const end = await this.#listenOnce();
        if (end === "impossible") return;
        if (end === "unheard") waitMs = unheardAgainMs;
        failures = 0;
      } catch (error) {
        this.#warn(error, "can't listen for new jobs; the worker polls until it can");
      }
      waitMs ??= nthWait(againMs, failures);
      if (!this.#stopped) await this.#alarm.until(performance.now() + waitMs * (1 + Math.random()));
    }
  }

  /** Connects and listens until the connection is lost. Rejects where it can't be made. */
  async #listenOnce(): Promise<"impossible" | "unheard" | "lost"> {
    const lost = new Promise<Error>((resolve) => {
      this.#lose = resolve;
    });
    const connection = await this.#connect(lost);
    if (connection === null) return "impossible";
    try {
      if (this.#stopped) return "lost";
      this.#connection = connection;
      if (!(await this.#hears(lost))) return "unheard";
      this.#begin();
      const error = await lost;
      if (!this.#stopped) {
        this.#warn(error, "the listening connection is lost; the worker polls until it is back");
      }
      return "lost";
    } finally {
      this.#connection = undefined;
      if (this.#listening) {
        this.#listening = false;
        if (!this.#stopped) this.#hooks.onChange();
      }
      await connection.close();
    }
  }

  #connect(lost: Promise<Error>): Promise<Listening | null> {
    const { database } = this.#parts;
    const connecting = (async () =>
      (await database.listen?.({
        onNotification: (payload) => this.#notified(payload),
        onLost: (error) => this.#lose(error),
      })) ?? null)();
    const patience = inTime(connecting, connectWithinMs);
    return Promise.race([patience, lost.then(fail)]).catch((error: unknown) => {
      // It may still come about, when nobody waits for it.
      void connecting.then(
        (late) => late?.close(),
        () => undefined,
      );
      throw error;
    });
  }

  /**
   * Whether a notification from another connection arrives: through a transaction pooler LISTEN
   * succeeds, and nothing ever comes. Rejects where that can't be asked.
   */
  async #hears(lost: Promise<Error>): Promise<boolean> {
    const token = crypto.randomUUID();
    const echo = new Promise<boolean>((resolve) => {
      this.#heard = (heard) => heard === token && resolve(true);
    });
    const { database, log } = this.#parts;
    const asking = database.call("worker_echo", { p_token: token });
    await Promise.race([inTime(asking, callWithinMs), lost.then(fail)]);
    const patience = inTime(echo, answerWithinMs).catch(() => false);
    const heard = await Promise.race([patience, lost.then(fail)]);
    if (!heard && !this.#toldUnheard) {
      this.#toldUnheard = true;
      log.warn(
        {},
        "notifications do not arrive, as through a transaction pooler: the worker polls. " +
          "Give the database `listen`, the URL of a direct connection, or `listen: false`",
      );
    }
    return heard;
  }

  #begin(): void {
    this.#listening = true;
    if (this.#warned) this.#parts.log.info({}, "listening for new jobs again");
    this.#warned = false;
    this.#hooks.onChange();
  }

  /** "<milliseconds> <kind>" from the database's `_wake`, "echo <token>" from our own question. */
  #notified(payload: string): void {
    const [, first = "", rest = ""] = /^(\S+) (.*)$/s.exec(payload) ?? [];
    if (first === "echo") this.#heard(rest);
    else if (/^\d{1,9}$/.test(first)) this.#hooks.onDue(rest, Number(first));
  }

  /** Once a loss, however often it fails to connect again. */
  #warn(error: unknown, what: string): void {
    if (this.#warned || this.#stopped) return;
    this.#warned = true;
    this.#parts.log.warn({ err: briefly(error) }, what);
    this.#parts.events.emit("error", { error, during: "listen" });
  }
}

function fail(error: Error): never {
  throw error;
}
