import { useState } from "preact/hooks";
import { get } from "../api.ts";
import { count, signed } from "../format.ts";
import { useAsked } from "../live.ts";
import { attempt } from "../parts/act.ts";
import { Ago, JobLink, Nothing, Stale, Tile, To } from "../parts/basics.tsx";
import { go, place } from "../route.ts";
import type { Account, AccountPage, Check } from "../types.ts";

export function CreditsView() {
  return place.value.account ? <AccountView account={place.value.account} /> : <AccountsView />;
}

function AccountsView() {
  const after = place.value.after ?? "";
  const { data, error } = useAsked<{ accounts: readonly Account[]; next: string | null }>(
    "accounts",
    { after },
    5_000,
  );
  if (data === undefined) return <Nothing error={error} />;
  return (
    <>
      <Stale error={error} />
      <h1>Credits</h1>
      <div class="row between">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const account = String(new FormData(event.currentTarget).get("account") ?? "").trim();
            if (account) go({ view: "credits", account });
          }}
        >
          <label>
            Account <input name="account" autocomplete="off" spellcheck={false} />
          </label>
        </form>
        <CheckButton />
      </div>
      {data.accounts.length === 0 ? (
        <p class="empty">No account was ever granted anything.</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Account</th>
                <th class="number">Available</th>
                <th class="number">Held</th>
              </tr>
            </thead>
            <tbody>
              {data.accounts.map(({ account, available, held }) => (
                <tr key={account}>
                  <td>
                    <To to={{ view: "credits", account }}>{account}</To>
                  </td>
                  <td class="number">{count(available)}</td>
                  <td class="number">{count(held)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div class="row end">
        {after && <To to={{ view: "credits" }}>First</To>}
        {data.next && <To to={{ view: "credits", after: data.next }}>More</To>}
      </div>
    </>
  );
}

function CheckButton() {
  const [check, setCheck] = useState<Check | "asking">();
  const run = () =>
    attempt(async () => {
      setCheck("asking");
      setCheck(
        await get<Check>("check").catch((error) => {
          setCheck(undefined);
          throw error;
        }),
      );
    });
  return (
    <div>
      <button type="button" disabled={check === "asking"} onClick={() => void run()}>
        Check the books
      </button>
      {check !== undefined && check !== "asking" && (
        <div role="status" class={check.ok ? "good" : "bad"}>
          {check.ok ? "They balance." : `${check.violations.length} violations:`}
          {check.violations.slice(0, 20).map(({ rule, account, job_id }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: violations have no other name
            <div key={i} class="text">
              {rule} {account} {job_id && <JobLink id={job_id}>{job_id}</JobLink>}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function AccountView({ account }: { account: string }) {
  const before = place.value.before ?? "";
  const { data, error } = useAsked<AccountPage>("account", { account, before }, 5_000);
  if (data === undefined) return <Nothing error={error} />;
  return (
    <>
      <Stale error={error} />
      <h1 class="text">{account}</h1>
      <div class="tiles">
        <Tile label="available" value={count(data.credits.available)} />
        <Tile label="held" value={count(data.credits.held)} />
      </div>
      {data.holds.holds.length > 0 && (
        <section>
          <h2>Held by unfinished jobs</h2>
          {data.holds.holds.map(({ job_id, run, amount, created_at }) => (
            <p key={`${job_id} ${run}`}>
              {count(amount)} by{" "}
              <JobLink id={job_id}>
                <code>{job_id}</code>
              </JobLink>{" "}
              <Ago at={created_at} />
            </p>
          ))}
          {data.holds.more && <p class="faint">…and more.</p>}
        </section>
      )}
      <section>
        <h2>Entries</h2>
        {data.entries.length === 0 && <p class="empty">None.</p>}
        {data.entries.length > 0 && (
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>When</th>
                  <th>What</th>
                  <th class="number">Available</th>
                  <th class="number">Held</th>
                  <th>For</th>
                </tr>
              </thead>
              <tbody>
                {data.entries.map((entry) => (
                  <tr key={entry.id}>
                    <td>
                      <Ago at={entry.at} />
                    </td>
                    <td>{entry.kind.replaceAll("_", " ")}</td>
                    <td class="number">
                      {entry.available_delta !== 0 && signed(entry.available_delta)}
                    </td>
                    <td class="number">{entry.held_delta !== 0 && signed(entry.held_delta)}</td>
                    <td class="text">
                      {entry.job_id && (
                        <JobLink id={entry.job_id}>
                          <code>{entry.job_id}</code>
                        </JobLink>
                      )}{" "}
                      {entry.reference}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <div class="row end">
          {before && <To to={{ view: "credits", account }}>Newest</To>}
          {data.next !== null && (
            <To to={{ view: "credits", account, before: String(data.next) }}>Older</To>
          )}
        </div>
      </section>
    </>
  );
}
