import { isDeepStrictEqual } from "node:util";
import { broken } from "./invariants.ts";
import type { End } from "./real.ts";
import type { Call, State } from "./state.ts";

export const sound = { ok: true, count: 0, violations: [] };

/** What the database did after a call, beside what the model says; `verify` where it was asked. */
export interface Checked {
  before: State;
  call: Call;
  /** The model's. */
  answer: unknown;
  after: State;
  /** The database's, with the model's names. */
  end: End & { verify?: unknown };
}

/** What is wrong after a step, a line each; none where the database and the model agree. */
export function wrongs({ before, call, answer, after, end }: Checked): string[] {
  const { born, ...state } = after;
  const verified = end.verify ?? sound;
  return [
    ...differences("answer", end.answer, answer),
    ...differences("state", end.state, state),
    ...broken(before, call, after),
    ...differences("verify", verified, sound),
  ];
}

function differences(place: string, real: unknown, model: unknown): string[] {
  if (isDeepStrictEqual(real, model)) return [];
  if (!isObject(real) || !isObject(model)) {
    return [
      `${place}: the database has ${JSON.stringify(real)}, the model ${JSON.stringify(model)}`,
    ];
  }
  const names = new Set([...Object.keys(real), ...Object.keys(model)]);
  return [...names].flatMap((name) => differences(`${place}.${name}`, real[name], model[name]));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** The error of a step that went wrong, with the calls that lead there. */
export function wrongStep(path: unknown[], found: string[]): Error {
  const steps = path.map((each, nth) => `${nth + 1}. ${JSON.stringify(each)}`);
  return new Error(
    `The database and the model part after\n${steps.join("\n")}\n\n${found.join("\n")}`,
  );
}
