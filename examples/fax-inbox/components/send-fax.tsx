"use client";

import { useActionState } from "react";
import { sendFax } from "../app/actions.ts";
import { stories } from "../outside/stories.ts";

/** Only where the stand-ins run: has the mail provider announce one more fax. */
export function SendFax() {
  const [said, send, isSending] = useActionState(sendFax, null);
  return (
    <section className="card" aria-labelledby="send">
      <h2 id="send">Send me a fax</h2>
      <form action={send} className="row">
        <label htmlFor="story">What happens on its way</label>
        <select id="story" name="story">
          {stories.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
        <button type="submit" className="primary" disabled={isSending}>
          Send
        </button>
      </form>
      <div role="status">{said && <p className="notice">{said}</p>}</div>
    </section>
  );
}
