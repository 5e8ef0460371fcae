import { FailureNews, isAway } from "../away.ts";
import { accessOf } from "../client-access.ts";
import { read } from "../describe-error.ts";
import { Failure, isResponse, unavailable } from "../http-answer.ts";
import { consoleLogger } from "../logger.ts";
import type { Settings } from "./settings.ts";

/** What the routes share: the settings, and how they ask the database and tell of failures. */
export class Door {
  readonly settings: Settings;
  readonly #news = new FailureNews();

  constructor(settings: Settings) {
    this.settings = settings;
  }

  /** Passes on what the database answers, and so knows that it does. */
  ask<T>(asking: Promise<T>): Promise<T> {
    return this.#news.from(asking);
  }

  /** The answer where a route has thrown: never a word of what it threw, unless it is a Failure. */
  answerTo(thrown: unknown): Response {
    if (isResponse(thrown)) return thrown;
    if (thrown instanceof Failure) return thrown.toResponse();
    this.tell(thrown);
    if (read(thrown, "code") === "LH109") {
      return unavailable("The server is stopping. Try again.", 1).toResponse();
    }
    if (isAway(thrown)) {
      return unavailable("The server can't do this right now. Try again.", 5).toResponse();
    }
    return new Failure(500, "INTERNAL", "Something went wrong on the server.").toResponse();
  }

  /** Tells the client's log and listeners; of a database that is away only once until it answers. */
  tell(error: unknown): void {
    if (!this.#news.isNews(error)) return;
    const access = accessOf(this.settings.leasehold);
    if (access !== undefined) access.failed(error, "request", "a request failed");
    else consoleLogger.error({ err: error }, "a request failed");
  }
}
