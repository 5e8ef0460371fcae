import { Suspense } from "react";
import { Account } from "@/components/account";
import { Desk } from "@/components/desk";
import { Past } from "@/components/past";
import { SignIn } from "@/components/sign-in";
import { overviewOf } from "@/lib/overview";
import { currentUser } from "@/lib/session";

export default function Page() {
  return (
    <main>
      <header className="title">
        <h1>Area safety assessment</h1>
        <p>How safe is an address? Three services and a model look into it, for one point.</p>
      </header>
      <Suspense fallback={<p className="quiet">One moment …</p>}>
        <Content />
      </Suspense>
    </main>
  );
}

async function Content() {
  const user = await currentUser();
  if (user === null) return <SignIn />;
  const { credits, entries, past, runningId } = await overviewOf(user);
  return (
    <div className="columns">
      <div className="main">
        <Desk key={user} runningId={runningId} />
        <Past assessments={past} />
      </div>
      <Account user={user} credits={credits} entries={entries} />
    </div>
  );
}
