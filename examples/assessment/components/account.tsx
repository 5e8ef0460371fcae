import type { Credits, Entry } from "leasehold";
import { signOut } from "@/app/actions";
import { users } from "@/lib/users";

const words: Record<Entry["kind"], string> = {
  grant: "Welcome",
  hold: "Asked for",
  capture: "Assessed",
  give_back: "Given back",
  refund: "Refund",
};

interface AccountProps {
  readonly user: string;
  readonly credits: Credits;
  readonly entries: readonly Entry[];
}

/** The user's points, and each change of them. */
export function Account({ user, credits, entries }: AccountProps) {
  const name = users.find(({ id }) => id === user)?.name ?? user;
  return (
    <aside className="card account" aria-labelledby="points">
      <div className="heading">
        <h2 id="points">Points of {name}</h2>
        <form action={signOut}>
          <button type="submit">Sign out</button>
        </form>
      </div>
      <dl className="balance">
        <div>
          <dt>Available</dt>
          <dd data-testid="available">{credits.available}</dd>
        </div>
        <div>
          <dt>Held</dt>
          <dd data-testid="held">{credits.held}</dd>
        </div>
      </dl>
      <table>
        <caption>History</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Available</th>
            <th scope="col">Held</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(({ id, kind, availableDelta, heldDelta }) => (
            <tr key={id} data-entry={kind}>
              <th scope="row">{words[kind]}</th>
              <td>{signed(availableDelta)}</td>
              <td>{signed(heldDelta)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </aside>
  );
}

function signed(delta: number): string {
  if (delta === 0) return "";
  return delta > 0 ? `+${delta}` : `−${-delta}`;
}
