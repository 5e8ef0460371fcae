import { quoteLiteral } from "../../src/schema/schema-name.ts";
import type { Queryable } from "../support/queryable.ts";
import { schema } from "./schema.ts";
import type { Call, State } from "./state.ts";
import { type IdOf, statementOf } from "./statements.ts";

/** What a call answered, and the state after it, in the model's terms. */
export interface End {
  answer: unknown;
  state: Omit<State, "born">;
}

/** The id of each job, by its name in the model. */
export type Ids = Readonly<Record<string, string>>;

/** Brings the functions of schema.ts, and a backoff that no test lives to see the end of. */
export async function prepare(db: Queryable, kinds: string[]): Promise<void> {
  await db.query(schema);
  for (const kind of kinds) {
    const defaults = { backoff_ms: [86_400_000] };
    await db.value("select leasehold.define_kind($1, $2)", [kind, JSON.stringify(defaults)]);
  }
}

export const idIn =
  (ids: Ids): IdOf =>
  (name) => {
    const id = ids[name];
    if (id === undefined) throw new Error(`No job was named ${name}`);
    return `${quoteLiteral(id)}::uuid`;
  };

export const sql = (call: Call, ids: Ids): string => statementOf(call, idIn(ids));

/**
 * An end with names in place of ids. Ids that are new are born in the order of the answer, as in the
 * model; a row that no answer has told of gets a name that the model does not know.
 */
export function named({ answer, state }: End, ids: Ids): End & { ids: Ids } {
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
  const translate = <T>(value: T): T =>
    JSON.parse(
      JSON.stringify(value).replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
        const name = names.get(id) ?? `j${names.size + 1}`;
        names.set(id, name);
        return name;
      }),
    );
  const end = { answer: inOrder(translate(answer)), state: translate(state) };
  return { ...end, ids: Object.fromEntries([...names].map(([id, name]) => [name, id])) };
}

/** The lists of bulk answers come in no promised order. */
function inOrder(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null) return answer;
  const parts = Object.entries(answer).map(([name, part]) => {
    const isList = ["done", "refused", "skipped"].includes(name) && Array.isArray(part);
    return [name, isList ? part.sort((a, b) => ((a.id ?? a) < (b.id ?? b) ? -1 : 1)) : part];
  });
  return Array.isArray(answer) ? answer : Object.fromEntries(parts);
}
