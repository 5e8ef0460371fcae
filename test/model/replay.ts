import type { Queryable } from "../support/queryable.ts";
import { callOf } from "./calls.ts";
import { wrongStep, wrongs } from "./check.ts";
import { accounts, type Drawn } from "./draws.ts";
import { apply } from "./model.ts";
import { type Ids, named, sql } from "./real.ts";
import { type Call, nothing } from "./state.ts";

const first: Call[] = accounts.map((account) => {
  return { fn: "grant_credits", account, amount: 4, reference: "first" };
});

/** Makes the drawn calls one after the other, from these rows on. Throws where the model parts from it. */
export async function replay(db: Queryable, rows: string, draws: Drawn[]): Promise<void> {
  await db.query("select model.restore($1)", [rows]);
  const made: Call[] = [];
  let state = nothing;
  let ids: Ids = {};
  let last: string | undefined;
  for (const draw of [...first, ...draws]) {
    const call =
      made.length < first.length ? (draw as Call) : callOf(draw as Drawn, { state, last });
    if (call === null) continue;
    made.push(call);
    const { state: after, answer } = apply(state, call);
    const real = await db.value("select model.step($1)", [sql(call, ids)]);
    const { ids: known, ...end } = named(real, ids);
    const found = wrongs({ before: state, call, answer, after, end });
    if (found.length > 0) throw wrongStep(made, found);
    state = after;
    ids = known;
    last = jobOf(call, answer) ?? last;
  }
  const verify = await db.value("select leasehold.verify()");
  if (!verify.ok) throw wrongStep(made, [JSON.stringify(verify.violations)]);
}

/** The job that a call was about, or that it brought. */
function jobOf(call: Call, answer: unknown): string | undefined {
  if ("id" in call && call.fn !== "pass") return call.id;
  const [first] = [answer].flat() as ({ id?: string | null } | null)[];
  return first?.id ?? undefined;
}
