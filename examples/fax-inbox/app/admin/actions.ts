"use server";

import { drainAfter } from "leasehold/next";
import { redirect } from "next/navigation";
import { leasehold } from "../../lib/leasehold.ts";
import { isPassword } from "../../lib/password.ts";
import { drainOptions } from "../../lib/timing.ts";
import { forget, isAdmin, signInWith } from "./session.ts";

/** Answers what to say where the password is wrong. */
export async function signIn(_before: string | null, form: FormData): Promise<string | null> {
  const password = String(form.get("password"));
  if (!isPassword(password)) return "That is not the password.";
  await signInWith(password);
  redirect("/admin");
}

export async function signOut(): Promise<void> {
  await forget();
  redirect("/admin");
}

/** What came of an action, for the page to say. A new object each time, so that it is said each time. */
export interface Said {
  readonly text: string;
}

/** Puts a failed job back with all its attempts, and begins at once. */
export async function rerun(_before: Said | null, form: FormData): Promise<Said> {
  // An action can be called from anywhere: the page that shows its button guards nothing.
  if (!(await isAdmin())) return { text: "You are not signed in any more. Load the page again." };
  const { outcome } = await leasehold.retry(String(form.get("id")));
  if (outcome === "retried") await drainAfter(leasehold, drainOptions);
  return { text: said[outcome] ?? `Nothing was done: ${outcome}.` };
}

const said: Readonly<Record<string, string>> = {
  retried: "It runs again.",
  wrong_status: "It has been run again already.",
  conflict: "Another job fetches this mail.",
  unknown: "There is no such job any more.",
};
