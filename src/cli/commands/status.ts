import type { Argument } from "../arguments.ts";
import { command } from "../command.ts";
import { callForJson } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import { parseExactly } from "../json-numbers.ts";
import { flag, jobId, textOption } from "../option-values.ts";
import { printData, printNote } from "../output.ts";
import { readableTime } from "../readable.ts";
import { formatFields } from "../table.ts";

const args = {
  id: { type: "positional", description: "The id of a job" },
  owner: { type: "string", valueHint: "text", description: "Only if the job is this owner's" },
} as const satisfies Record<string, Argument>;

/** What SQL's status answers. */
interface State {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly generation: number;
  readonly progress: unknown;
  readonly result: unknown;
  readonly error_code: string | null;
  readonly cancel_requested: boolean;
  readonly money: string | null;
  readonly notice: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export const statusCommand = command({
  name: "status",
  description: "Shows one job, as its owner may see it",
  args,
  async run(given) {
    const id = jobId("ID", given.positionals[0] ?? "");
    const owner = textOption(given, "owner");
    const json = await callForJson(given, "status", { p_id: id, p_owner: owner });
    const state = parseExactly(json) as State | null;
    if (flag(given, "json")) printData(json);
    else if (state !== null) printData(formatFields(fieldsOf(state)));
    if (state !== null) return exitCodes.done;
    const whose = owner === undefined ? "" : ` of the owner ${JSON.stringify(owner)}`;
    printNote(
      `leasehold: There is no job ${id}${whose}.\n\`leasehold jobs\` lists those there are.`,
    );
    return exitCodes.refused;
  },
});

function fieldsOf(state: State) {
  return [
    ["id", state.id],
    ["kind", state.kind],
    ["status", state.status],
    ["notice", state.notice],
    ["cancel", state.cancel_requested ? "requested" : null],
    ["attempts", `${state.attempts} of ${state.max_attempts}`],
    ["generation", String(state.generation)],
    ["error", state.error_code],
    ["money", state.money],
    ["created", readableTime(state.created_at)],
    ["started", readableTime(state.started_at)],
    ["finished", readableTime(state.finished_at)],
    ["progress", jsonOrNothing(state.progress)],
    ["result", jsonOrNothing(state.result)],
  ] as const;
}

function jsonOrNothing(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
