"use client";

import { useActionState } from "react";
import { signIn } from "../app/admin/actions.ts";

/** Asks for the password of the admin page. */
export function SignIn() {
  const [wrong, send, isSending] = useActionState(signIn, null);
  return (
    <section className="card" aria-labelledby="sign-in">
      <h2 id="sign-in">Sign in</h2>
      <form action={send} className="row">
        <label htmlFor="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          required
          autoComplete="current-password"
          aria-describedby="wrong"
        />
        <button type="submit" className="primary" disabled={isSending}>
          Sign in
        </button>
      </form>
      <div id="wrong" role="alert">
        {wrong && <p className="notice bad">{wrong}</p>}
      </div>
    </section>
  );
}
