"use server";

import { headers } from "next/headers";

/** Has the stand-in of the mail provider announce a fax to this application. Answers what to say. */
export async function sendFax(_before: string | null, form: FormData): Promise<string | null> {
  const outside = process.env.OUTSIDE_URL;
  if (outside === undefined) return "The stand-ins do not run.";
  const host = (await headers()).get("host");
  const body = JSON.stringify({ story: form.get("story"), webhook: `http://${host}/api/mail` });
  const answer = await fetch(`${outside}/send`, { method: "POST", body }).catch(() => null);
  return answer?.ok ? null : "It could not be announced: see the server's output.";
}
