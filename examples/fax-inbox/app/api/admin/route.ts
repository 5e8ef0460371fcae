import { desk } from "../../../lib/desk.ts";
import { isAdmin } from "../../admin/session.ts";
import { answered } from "../answered.ts";

/** What the admin page shows, for who has signed in. */
export async function GET(): Promise<Response> {
  if (!(await isAdmin()))
    return Response.json({ error: { code: "UNAUTHORIZED" } }, { status: 401 });
  return answered(desk);
}
