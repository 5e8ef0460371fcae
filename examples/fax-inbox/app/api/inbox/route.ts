import { connection } from "next/server";
import { inbox } from "../../../lib/inbox.ts";
import { answered } from "../answered.ts";

/** The inbox, for its page, which asks again and again. */
export async function GET(): Promise<Response> {
  await connection();
  return answered(inbox);
}
