import { cookies, headers } from "next/headers";
import { connection } from "next/server";
import { isTicket, signedInMs, ticket } from "../../lib/password.ts";

const name = "fax-admin";

/** Whether the one who asks has signed in. */
export async function isAdmin(): Promise<boolean> {
  await connection(); // whether a ticket is still good is not to be known before the request
  return isTicket((await cookies()).get(name)?.value ?? "");
}

/** In a server action. */
export async function signInWith(password: string): Promise<void> {
  const secure = (await headers()).get("x-forwarded-proto") === "https";
  (await cookies()).set(name, ticket(password), {
    httpOnly: true,
    sameSite: "strict",
    secure,
    path: "/",
    maxAge: signedInMs / 1_000,
  });
}

/** In a server action. */
export async function forget(): Promise<void> {
  (await cookies()).delete(name);
}
