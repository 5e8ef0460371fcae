import type { Job, State } from "./state.ts";

/** The model of credits: held, then captured or given back; granted and refunded. */

/** One capture or one give-back, together with the end of the job. */
export function settle(state: State, job: Job): void {
  const hold = state.holds[job.id];
  if (job.money !== "held" || hold === undefined) return;
  hold.state = job.status === "completed" ? "captured" : "given_back";
  job.money = hold.state;
  if (hold.state === "given_back") add(state, hold.account, hold.amount);
}

export const add = (state: State, account: string, amount: number) => {
  state.accounts[account] = (state.accounts[account] ?? 0) + amount;
};

/** Takes what a job costs; false where too little is available. */
export function hold(state: State, job: Job): boolean {
  const { cost, account } = job;
  if (cost === null || account === null) return true;
  if ((state.accounts[account] ?? 0) < cost) return false;
  add(state, account, -cost);
  state.holds[job.id] = { account, amount: cost, state: "held", refunds: {} };
  job.money = "held";
  return true;
}

/** What `credits` answers. */
export function books(state: State, account: string) {
  const held = Object.values(state.holds).filter(
    (each) => each.account === account && each.state === "held",
  );
  const sum = held.reduce((total, { amount }) => total + amount, 0);
  return { account, available: state.accounts[account] ?? 0, held: sum };
}

export function grant(state: State, account: string, amount: number, reference: string) {
  state.grants[account] ??= {};
  const before = state.grants[account][reference];
  if (before !== undefined && before !== amount) return { error: "LH002" };
  add(state, account, before === undefined ? amount : 0);
  state.grants[account][reference] = amount;
  const outcome = before === undefined ? "granted" : "duplicate";
  return { outcome, available: state.accounts[account] };
}

/** Refunds never exceed the capture, and work after the job is gone. */
export function refund(state: State, id: string, amount: number, reference: string) {
  const hold = state.holds[id];
  if (hold === undefined) return { outcome: "refused", available: null };
  const before = hold.refunds[reference];
  const sum = Object.values(hold.refunds).reduce((total, each) => total + each, amount);
  const job = state.jobs[id];
  let outcome = "refunded";
  if (before !== undefined && before !== amount) return { error: "LH002" };
  if (before !== undefined) outcome = "duplicate";
  else if (hold.state !== "captured" || sum > hold.amount) outcome = "refused";
  else {
    hold.refunds[reference] = amount;
    add(state, hold.account, amount);
    if (job !== undefined && sum === hold.amount) job.money = "refunded";
  }
  return { outcome, available: state.accounts[hold.account] };
}
