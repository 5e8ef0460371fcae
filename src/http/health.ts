import { json, unavailable } from "../http-answer.ts";
import { inTime } from "../in-time.ts";
import type { Door } from "./door.ts";

/** Whoever asks for health waits no longer than this, and neither do those who ask meanwhile. */
const answerWithinMs = 5_000;

/**
 * `GET /health`: 200 when the database answers for leasehold's schema, else 503; for everybody, and so
 * without any detail. However many ask at once, the database is asked once.
 */
export function healthRoute(): (door: Door) => Promise<Response> {
  let asking: Promise<unknown> | undefined;
  return async (door) => {
    asking ??= inTime(door.settings.leasehold.database.call("schema_version", {}), answerWithinMs);
    const own = asking;
    try {
      await door.ask(own);
      return json(200, { status: "ok" });
    } catch (error) {
      door.tell(error);
      return unavailable("The database does not answer.", 5).toResponse();
    } finally {
      if (asking === own) asking = undefined;
    }
  };
}
