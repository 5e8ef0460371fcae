import type { StartOutcome } from "leasehold/react";

/** What became of a submit, where it has started nothing. */
export function StartNotice({ answer }: { answer: StartOutcome }) {
  switch (answer.outcome) {
    case "started":
      return null;
    case "in_flight":
      return (
        <p className="notice">
          An assessment of yours is already running, so no second one was started. Here it is.
        </p>
      );
    case "insufficient":
      return <p className="notice">You have no point left. Nothing was started or charged.</p>;
    case "error":
      return <p className="notice bad">{sorry(answer.error.status, answer.error.message)}</p>;
  }
}

function sorry(status: number | null, message: string): string {
  if (status === 401) return "You are not signed in any more. Load the page again.";
  if (status === 400) return "That does not look like an address.";
  if (status === null) return "There is no connection, so it may or may not have been started.";
  return message;
}
