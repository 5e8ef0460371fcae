import { show } from "../errors.ts";
import { isResponse, unauthorized } from "../http-answer.ts";
import { text } from "../options.ts";

/**
 * Who asks: an owner, who sees and cancels the jobs of that owner alone; an admin, who sees all and may
 * retry, and whose own jobs have an owner where one is named; null: nobody (401).
 */
export type Authorized =
  | { readonly owner: string; readonly admin?: false }
  | { readonly admin: true; readonly owner?: string }
  | null;

/**
 * Says who asks, by a session or a token. A Response that it answers or throws is sent as it is. It
 * must not read the request's body.
 */
export type Authorize = (
  request: Request,
) => Authorized | Response | Promise<Authorized | Response>;

/** Who asks, checked. Without `admin` there is always an owner. */
export type Caller =
  | { readonly admin: false; readonly owner: string }
  | { readonly admin: true; readonly owner: string | undefined };

/** Who asks. Throws a 401 for nobody, a Response, or an error where `authorize` answers nonsense. */
export async function callerOf(authorize: Authorize, request: Request): Promise<Caller> {
  const authorized: unknown = await authorize(request);
  if (isResponse(authorized)) throw authorized;
  if (authorized === null || authorized === undefined) throw unauthorized();
  return checked(authorized);
}

/** Whatever is not plainly an owner or plainly an admin is a mistake, and never "everyone's". */
function checked(authorized: unknown): Caller {
  const { owner, admin = false } = authorized as Record<string, unknown>;
  if (typeof authorized !== "object" || typeof admin !== "boolean") {
    throw new TypeError(
      `authorize answered ${show(authorized)}: give null, { owner } or { admin: true }`,
    );
  }
  if (admin && !Object.hasOwn(authorized as object, "owner")) return { admin, owner: undefined };
  return { admin, owner: text("the owner that authorize answered", owner, { maxBytes: 500 }) };
}
