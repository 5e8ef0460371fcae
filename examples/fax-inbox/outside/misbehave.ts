import type { ServerResponse } from "node:http";
import type { Fault } from "./faults.ts";
import { reply } from "./http.ts";

/** Plays a fault; "cut" and "held" are for who does the work. */
export function misbehave({ at, how, retryAfterSeconds }: Fault, response: ServerResponse): void {
  if (how === "hang" || how === "cut" || how === "held") return;
  if (how === "reset") {
    response.socket?.resetAndDestroy();
    return;
  }
  if (how === "refused") {
    const message = "new row violates row-level security policy";
    reply(response, 400, { statusCode: "403", error: "Unauthorized", message });
    return;
  }
  const headers = retryAfterSeconds === undefined ? {} : { "retry-after": `${retryAfterSeconds}` };
  if (at === "storage") {
    reply(
      response,
      how,
      { statusCode: `${how}`, error: "OnPurpose", message: "on purpose" },
      headers,
    );
  } else {
    response.writeHead(how, { "content-type": "text/plain", ...headers });
    response.end("on purpose\n");
  }
}
