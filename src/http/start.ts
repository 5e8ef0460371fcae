import type { JobDefinition } from "../define.ts";
import { InvalidArgumentError, InvalidPayloadError, LeaseholdError } from "../errors.ts";
import { Failure, json } from "../http-answer.ts";
import { readJson } from "../http-body.ts";
import { toJsonValue } from "../json.ts";
import { text } from "../options.ts";
import { refuseOtherOrigins } from "../same-origin.ts";
import { validatePayload } from "../standard-schema.ts";
import type { StartAnswer, StartOptions } from "../start.ts";
import { type Caller, callerOf } from "./caller.ts";
import type { Door } from "./door.ts";
import type { ListedJob } from "./settings.ts";

/** `POST /jobs/:kind`: starts a job for the caller. */
export async function startJob(door: Door, request: Request, kind: string): Promise<Response> {
  const { leasehold, jobs, authorize, trustedOrigins, maxBodyBytes, basePath } = door.settings;
  refuseOtherOrigins(request, trustedOrigins);
  const caller = await callerOf(authorize, request);
  const listed = jobs.get(kind);
  if (listed === undefined) throw new Failure(404, "NOT_FOUND", "There is no such kind of job.");
  const payload = await readJson(request, maxBodyBytes);
  const options = await startOptions(listed, caller, payload, request);
  const started = await door.ask(leasehold.start(listed.job, payload as never, options));
  return answerTo(started, (id) => `${basePath}/jobs/${id}`);
}

/**
 * Checks all that comes from the caller, so that what `start` refuses afterwards is the server's own
 * mistake; then the owner, key and all else are the server's.
 */
async function startOptions(
  { job, options }: ListedJob,
  caller: Caller,
  payload: unknown,
  request: Request,
): Promise<StartOptions> {
  const once = onceOf(request);
  const parsed = await checkedPayload(job, payload);
  const { owner = null, admin } = caller;
  const given = await options?.({ owner, admin, payload: parsed as never, request });
  const key = given?.key !== undefined ? given.key : (job.key?.(parsed as never) ?? null);
  return {
    ...(once !== undefined && { once }),
    ...given,
    key: typeof key === "string" ? refusing(() => text("key", key, { maxBytes: 500 })) : key,
    owner: admin ? (given?.owner ?? owner) : owner,
  };
}

/** The header Idempotency-Key is the option `once`: what is sent again starts nothing more. */
function onceOf(request: Request): string | undefined {
  const once = request.headers.get("idempotency-key");
  if (once === null) return undefined;
  return refusing(() => text("Idempotency-Key", once, { maxBytes: 500 }));
}

async function checkedPayload(job: JobDefinition, payload: unknown): Promise<unknown> {
  try {
    const parsed = await validatePayload(job.schema, payload);
    toJsonValue(payload, { what: "payload" });
    return parsed;
  } catch (error) {
    throw refusal(error);
  }
}

function refusing<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw refusal(error);
  }
}

/** What is wrong with what the caller sent, in the words of the error; others stay what they are. */
function refusal(error: unknown): unknown {
  if (!(error instanceof LeaseholdError)) return error;
  const { code, message, cause } = error;
  if (code === "LH004" && /^payload\b/.test(message)) {
    return new Failure(413, "PAYLOAD_TOO_LARGE", message);
  }
  // With a cause, the schema itself has thrown.
  const theirs = error instanceof InvalidPayloadError || error instanceof InvalidArgumentError;
  return theirs && cause === undefined ? new Failure(400, "BAD_PAYLOAD", message) : error;
}

function answerTo(started: StartAnswer, urlOf: (id: string) => string): Response {
  switch (started.outcome) {
    case "insufficient":
      throw new Failure(402, "INSUFFICIENT_CREDITS", "There are not enough credits for this.");
    case "conflict":
      throw inFlight(started.holder, urlOf);
    default: {
      const { outcome, id } = started;
      const statusUrl = urlOf(id);
      // 200: this was started before, and nothing was now.
      return json(outcome === "duplicate" ? 200 : 202, { id, statusUrl }, { location: statusUrl });
    }
  }
}

/** Whose the job in the way is, SQL has decided: another owner's has no id here. */
function inFlight(
  { id, status }: { id: string | null; status: string },
  urlOf: (id: string) => string,
) {
  const fields = id === null ? {} : { id, status, statusUrl: urlOf(id) };
  return new Failure(409, "JOB_IN_FLIGHT", "Such a job is already under way.", { fields });
}
