import { connection } from "next/server";
import { Suspense } from "react";
import { Inbox } from "../components/inbox.tsx";
import { SendFax } from "../components/send-fax.tsx";
import { inbox } from "../lib/inbox.ts";

export default function Page() {
  return (
    <>
      <header className="title">
        <h1>Fax inbox</h1>
        <p className="quiet">Faxes arrive as e-mail. Their attachments are fetched behind it.</p>
      </header>
      <Suspense fallback={<p className="quiet">One moment …</p>}>
        <Content />
      </Suspense>
    </>
  );
}

async function Content() {
  await connection();
  return (
    <>
      {process.env.OUTSIDE_URL && <SendFax />}
      <Inbox initial={await inbox()} />
    </>
  );
}
