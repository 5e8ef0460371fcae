import pg from "pg";
import type { Row } from "./calls.ts";

/** One step of a plan, as it ran. */
export interface PlanNode {
  /** "Index Scan", "Sort", … */
  readonly type: string;
  /** The table that it reads; undefined for a step that reads none. */
  readonly table: string | undefined;
  /** How many rows it gave, over all its loops. */
  readonly rows: number;
}

/** What a statement answered, and what it cost. */
export interface Explained {
  readonly rows: Row[];
  /** Pages of 8 KB that it looked at, all statements within its functions counted. */
  readonly buffers: number;
  /** The steps of its plan, and of every statement within its functions. */
  readonly nodes: readonly PlanNode[];
}

export interface ExplainedSession {
  run(text: string, values?: unknown[]): Promise<Explained>;
  close(): Promise<void>;
}

const settings = [
  "log_min_duration = 0",
  "log_analyze = on",
  "log_buffers = on",
  "log_timing = off",
  "log_nested_statements = on",
  "log_format = json",
  "log_level = notice",
];

/**
 * A connection on which PostgreSQL tells the plan of each statement, those within functions too, by
 * its module auto_explain. Needs a superuser.
 */
export async function openExplained(url: string): Promise<ExplainedSession> {
  const client = new pg.Client({ connectionString: url });
  let told: RawNode[] = [];
  client.on("notice", ({ message = "" }) => {
    const plan = /\{.*\}/s.exec(message)?.[0];
    if (message.includes("plan:") && plan !== undefined) told.push(JSON.parse(plan).Plan);
  });
  await client.connect();
  await client.query("load 'auto_explain'");
  for (const setting of settings) await client.query(`set auto_explain.${setting}`);
  return {
    async run(text, values) {
      told = [];
      const { rows } = await client.query(text, values);
      const outermost = told.at(-1);
      if (outermost === undefined) throw new Error(`No plan was told of ${text}`);
      const buffers = outermost["Shared Hit Blocks"] + outermost["Shared Read Blocks"];
      return { rows, buffers, nodes: told.flatMap(nodesOf) };
    },
    close: () => client.end(),
  };
}

/** A node as PostgreSQL writes it. */
interface RawNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly RawNode[];
}

function nodesOf(node: RawNode): PlanNode[] {
  const own = {
    type: node["Node Type"],
    table: node["Relation Name"],
    rows: Math.round(node["Actual Rows"] * node["Actual Loops"]),
  };
  return [own, ...(node.Plans ?? []).flatMap(nodesOf)];
}
