import type { ReactNode } from "react";
import type { MailState } from "../lib/mail-state.ts";
import { reasonOf } from "../lib/reason.ts";
import { When } from "./moment.tsx";

/** The same in a word or two. */
export const badges: Readonly<Record<MailState["at"], string>> = {
  waiting: "waiting",
  fetching: "being fetched",
  retrying: "tried again",
  resting: "put aside",
  done: "done",
  failed: "failed",
};

/** What a mail is at. Nothing where its attachments say it. */
export function MailStatus({ state }: { state: MailState }): ReactNode {
  switch (state.at) {
    case "waiting":
      return <p>Waits for its turn.</p>;
    case "fetching":
      return <p>Being fetched{state.attempt > 1 && `, attempt ${state.attempt}`}.</p>;
    case "retrying":
      return (
        <p>
          Not fetched yet: {reasonOf(state.code)}. Tried again <When at={state.again} />, attempt{" "}
          {state.attempt + 1} of {state.of}.
        </p>
      );
    case "resting":
      return (
        <p>
          Put aside: {reasonOf(state.code)}. Goes on <When at={state.again} />.
        </p>
      );
    case "failed":
      return (
        <p>
          Could not be fetched: {reasonOf(state.code)}. Given up after{" "}
          {state.attempts === 1 ? "one attempt" : `${state.attempts} attempts`} ({state.code}).
        </p>
      );
    case "done":
      return null;
  }
}
