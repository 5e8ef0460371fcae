import { attempt } from "../../../describe-error.ts";
import { exitCodes } from "../../exit-codes.ts";
import { CliError } from "../../failure.ts";
import type { Change, Made } from "../change.ts";
import { type JsonPlace, placesIn } from "../json-places.ts";
import { drainPath } from "../look/vercel.ts";
import type { Vercel } from "../project.ts";

const path = "vercel.json";

/** Vercel's cron calls the drain. */
export function vercelJson(schedule: string, { module, callsDrain }: Vercel): Change {
  const snippet = `crons: [${JSON.stringify({ path: drainPath, schedule })}]`;
  return {
    path: module ?? path,
    purpose: `cron: ${schedule}`,
    whole: false,
    make(before) {
      if (module === undefined) return withCron(before ?? "{}\n", schedule);
      if (callsDrain) return { text: before ?? "" };
      return { because: "is a program", snippet };
    },
  };
}

/** Adds the entry; every other byte stays. One for the drain that is there stays as well. */
export function withCron(text: string, schedule: string): Made {
  const root = attempt(() => placesIn(text));
  if (root === undefined) throw broken("it is no JSON");
  if (!isObject(root.value)) throw broken("it is no object");
  const crons = root.members.get("crons");
  const unit = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
  const entry = entryLines(schedule, unit);
  if (crons === undefined) {
    const list = ['"crons": [', ...entry.map((line) => unit + line), "]"];
    return { text: append(text, root, [...root.members.values()], list, unit, 0) };
  }
  if (!Array.isArray(crons.value)) throw broken("its crons are no list");
  if (crons.value.some((cron) => isObject(cron) && cron.path === drainPath)) return { text };
  return { text: append(text, crons, crons.items, entry, unit, 1) };
}

function entryLines(schedule: string, unit: string): string[] {
  return [
    "{",
    `${unit}"path": ${JSON.stringify(drainPath)},`,
    `${unit}"schedule": ${JSON.stringify(schedule)}`,
    "}",
  ];
}

/** Puts lines behind the last part of an object or list that lies so deep. */
function append(
  text: string,
  whole: JsonPlace,
  parts: readonly JsonPlace[],
  lines: readonly string[],
  unit: string,
  depth: number,
): string {
  const indented = lines.map((line) => `\n${unit.repeat(depth + 1)}${line}`).join("");
  const last = parts.at(-1);
  const behind = last?.end ?? whole.start + 1;
  const comma = last === undefined ? "" : ",";
  const rest = text.slice(behind, whole.end - 1);
  const closing = rest.includes("\n") ? rest : `\n${unit.repeat(depth)}`;
  return text.slice(0, behind) + comma + indented + closing + text.slice(whole.end - 1);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function broken(why: string): CliError {
  const hint = "Nothing was written. Correct it and run init again.";
  return new CliError(exitCodes.failed, `${path} can't be edited: ${why}.`, hint);
}
