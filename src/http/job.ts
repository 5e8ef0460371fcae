import { answer, Failure, json, noSuchJob } from "../http-answer.ts";
import { noticeText } from "../notice.ts";
import { refuseOtherOrigins } from "../same-origin.ts";
import type { JobState } from "../status.ts";
import { type Caller, callerOf } from "./caller.ts";
import type { Door } from "./door.ts";
import { etagOf, isMatch } from "./etag.ts";
import { languageOf } from "./language.ts";

/** `GET /jobs/:id`: the job as its owner may see it; reaps it first where its lease ran out. */
export async function showJob(door: Door, request: Request, id: string): Promise<Response> {
  const { leasehold, authorize } = door.settings;
  const caller = await callerOf(authorize, request);
  const job = await door.ask(leasehold.status(id, scopeOf(caller)));
  if (job === null) throw noSuchJob();
  const body = JSON.stringify(shown(door, request, job));
  const etag = await etagOf(body);
  const headers = {
    etag,
    vary: "Accept-Language, Authorization, Cookie",
    ...(!isOver(job) && { "retry-after": String(retryAfterSeconds(job)) }),
  };
  if (isMatch(request.headers.get("if-none-match"), etag)) return answer(304, null, headers);
  return answer(200, body, { "content-type": "application/json", ...headers });
}

/** `POST /jobs/:id/cancel`. */
export async function cancelJob(door: Door, request: Request, id: string): Promise<Response> {
  const { leasehold, authorize, trustedOrigins } = door.settings;
  refuseOtherOrigins(request, trustedOrigins);
  const caller = await callerOf(authorize, request);
  const { outcome, status } = await door.ask(leasehold.cancel(id, scopeOf(caller)));
  if (outcome === "unknown") throw noSuchJob();
  return json(200, { outcome, status });
}

/** `POST /jobs/:id/retry`, for admins alone: an owner hears the same of every id. */
export async function retryJob(door: Door, request: Request, id: string): Promise<Response> {
  const { leasehold, authorize, trustedOrigins, basePath } = door.settings;
  refuseOtherOrigins(request, trustedOrigins);
  const caller = await callerOf(authorize, request);
  if (!caller.admin) throw new Failure(403, "FORBIDDEN", "Only an admin may do this.");
  const { outcome, id: retried, status } = await door.ask(leasehold.retry(id));
  const refused = refusals.get(outcome);
  if (refused !== undefined) throw refused();
  return json(200, { outcome, id: retried, status, statusUrl: `${basePath}/jobs/${retried}` });
}

const refusals: ReadonlyMap<string, () => Failure> = new Map([
  ["unknown", noSuchJob],
  ["conflict", () => new Failure(409, "CONFLICT", "Another unfinished job holds its key.")],
  [
    "wrong_status",
    () => new Failure(409, "WRONG_STATUS", "It has neither failed nor been cancelled."),
  ],
  [
    "money_unsettled",
    () => new Failure(409, "MONEY_UNSETTLED", "What it has cost is not settled yet."),
  ],
  [
    "insufficient",
    () => new Failure(402, "INSUFFICIENT_CREDITS", "There are not enough credits for this."),
  ],
]);

function scopeOf(caller: Caller): { owner?: string } {
  return caller.admin ? {} : { owner: caller.owner };
}

/** Not its kind, attempts and generation: how it is run is nothing to its owner. */
function shown({ settings }: Door, request: Request, job: JobState): object {
  const texts = settings.jobs.get(job.kind)?.job.notices;
  const accepted = request.headers.get("accept-language");
  const language = settings.language ?? languageOf(accepted, job.notice, texts);
  return {
    id: job.id,
    status: job.status,
    progress: job.progress,
    result: job.result,
    errorCode: job.errorCode,
    cancelRequested: job.cancelRequested,
    money: job.money,
    notice: job.notice,
    message: noticeText(job.notice, { language, texts }),
    createdAt: job.createdAt,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
  };
}

/** Whether nothing will change by itself: what it costs may still be found out after its end. */
function isOver({ finishedAt, money }: JobState): boolean {
  return finishedAt !== null && money !== "checking";
}

/**
 * A tenth of the time that it takes already, 1 to 30 s: whoever waits for a short job hears of its end
 * at once, and a job of an hour is not asked for thousands of times. A clock here that is wrong by
 * minutes makes it no worse than that.
 */
function retryAfterSeconds({ createdAt, finishedAt }: JobState): number {
  const seconds = (Date.now() - Date.parse(finishedAt ?? createdAt)) / 1_000;
  return Math.min(Math.max(Math.floor(seconds / 10), 1), 30);
}
