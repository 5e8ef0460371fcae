import { Suspense } from "react";
import { Desk } from "../../components/desk.tsx";
import { SignIn } from "../../components/sign-in.tsx";
import { desk } from "../../lib/desk.ts";
import { adminPassword } from "../../lib/password.ts";
import { signOut } from "./actions.ts";
import { isAdmin } from "./session.ts";

/** Seconds: for the drain behind a re-run. */
export const maxDuration = 300;

export default function Page() {
  return (
    <>
      <header className="title">
        <h1>Admin</h1>
        <p className="quiet">Jobs that need a person, and those that go on by themselves.</p>
      </header>
      <Suspense fallback={<p className="quiet">One moment …</p>}>
        <Content />
      </Suspense>
    </>
  );
}

async function Content() {
  const isSignedIn = await isAdmin();
  if (adminPassword() === undefined) {
    return <p className="notice">Closed, since ADMIN_PASSWORD is not set.</p>;
  }
  if (!isSignedIn) return <SignIn />;
  return (
    <>
      <form action={signOut} className="corner">
        <button type="submit">Sign out</button>
      </form>
      <Desk initial={await desk()} />
    </>
  );
}
