/**
 * Writes docs/sql.md out of the head comments of sql/functions, which are the contract of each
 * function, so that page and functions can't disagree.
 *
 *   node scripts/sql-docs.mjs           writes the page
 *   node scripts/sql-docs.mjs --check   fails when the page is not what would be written
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const page = join(root, "docs/sql.md");

const groups = {
  Enqueue: ["enqueue", "enqueue_many"],
  Work: [
    "claim",
    "claim_job",
    "extend",
    "extend_many",
    "complete",
    "fail",
    "release",
    "finish_many",
    "finish_and_claim",
    "guard",
  ],
  "Durable steps": ["step_load", "step_save", "step_names"],
  "Single flight": ["cache_begin", "cache_put", "cache_drop"],
  Workers: ["worker_beat", "worker_echo", "worker_recover", "worker_stop", "workers"],
  "Ask and decide": [
    "status",
    "cancel",
    "cancel_many",
    "retry",
    "retry_many",
    "list",
    "counts",
    "inspect",
    "run_now",
    "run_now_many",
    "remove",
    "remove_many",
  ],
  Credits: ["grant_credits", "credits", "refund", "entries", "accounts", "holds", "verify_credits"],
  Alerts: ["alerts", "acknowledge_alerts", "claim_alerts", "finish_alerts"],
  Operate: [
    "define_kind",
    "kinds",
    "pause",
    "resume",
    "reap",
    "prune",
    "doctor",
    "overview",
    "timings",
    "note_drain",
    "stats",
    "measures",
    "has_due_work",
    "every",
    "verify",
    "schema_version",
  ],
};

const intro = `# The SQL functions

<!-- Written by scripts/sql-docs.mjs from the head comments of sql/functions. -->

The functions are the product: any client that can call one is a full client. Arguments are named and may be given by name (\`p_limit => 10\`); they only grow at the end, with defaults. Here the schema is \`leasehold\`; with another name, say that one.

Bad arguments raise an SQLSTATE of class \`LH\` with a hint that says what to do ([errors.md](errors.md)). A lost race is a value, never an exception: it leaves your transaction usable. Durations are milliseconds; times in answers are ISO 8601 in UTC.
`;

function section(name) {
  const text = readFileSync(join(root, "sql/functions", `${name}.sql`), "utf8");
  const comment = [...text.matchAll(/^-- ?(.*)$/gm)].map((match) => match[1]);
  const head = comment.slice(
    0,
    text.split("\n").findIndex((line) => !line.startsWith("--")),
  );
  const signature = /create or replace function ([\s\S]*?)\s+language/.exec(text)?.[1] ?? "";
  const oneLine = signature.replace(/\s+/g, " ").replace("( ", "(");
  return `### ${name}\n\n\`\`\`sql\n${oneLine}\n\`\`\`\n\n\`\`\`text\n${head.join("\n")}\n\`\`\`\n`;
}

function written() {
  const known = Object.values(groups).flat();
  const files = readdirSync(join(root, "sql/functions")).map((file) => file.replace(/\.sql$/, ""));
  const missing = files.filter((name) => !known.includes(name));
  if (missing.length > 0)
    throw new Error(`No group in scripts/sql-docs.mjs for ${missing.join(", ")}`);
  const parts = Object.entries(groups).map(([title, names]) =>
    [`## ${title}\n`, ...names.map(section)].join("\n"),
  );
  return [intro, ...parts].join("\n");
}

if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") !== written()) {
    console.error("docs/sql.md is behind sql/functions: run `npm run docs`.");
    process.exit(1);
  }
} else {
  writeFileSync(page, written());
}
