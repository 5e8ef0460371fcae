import type { Judged } from "./checks.ts";
import type { Scene } from "./scene.ts";

const shownViolations = 10;
const shownStories = 5;

/** Prints each check with its count, and what happened. */
export async function report(scene: Scene, judged: readonly Judged[]): Promise<void> {
  for (const { promise, count, violations } of judged) {
    const verdict = violations.length === 0 ? "ok  " : "FAIL";
    console.log(`${verdict} ${promise} (${count})`);
    for (const what of violations.slice(0, shownViolations)) console.log(`       ${what}`);
    const more = violations.length - shownViolations;
    if (more > 0) console.log(`       and ${more} more`);
  }
  const { direct, books } = scene;
  const { rows } = await direct.query(
    `select status, count(*)::int as jobs, sum(generation)::int as claims
     from leasehold.jobs group by status order by status`,
  );
  const sum = (field: "jobs" | "claims") => rows.reduce((all, row) => all + row[field], 0);
  const byStatus = rows.map(({ status, jobs }) => `${jobs} ${status}`).join(", ");
  console.log(`\n${sum("jobs")} jobs by ${sum("claims")} claims: ${byStatus}`);
  const refused = await direct.query(
    "select count(*)::int as writes from leasehold.job_events where event = 'refused'",
  );
  console.log(`writes refused to claims that were valid no more: ${refused.rows[0].writes}`);
  console.log(`faults: ${counted(books.faults)}`);
  console.log(
    `processes: ${scene.crew.processes}, of which ${scene.crew.shiftedClocks} with a clock an hour off`,
  );
  console.log(`enqueues whose answer was lost for good: ${books.unknown.length}`);
  console.log(`failed calls by code: ${counted(books.troubles)}`);
}

/** The rows and events of the first jobs that a violation names. */
export async function tellStories({ direct }: Scene, judged: readonly Judged[]): Promise<void> {
  const named = judged.flatMap(({ violations }) => violations).flatMap((what) => what.match(uuids));
  const ids = [...new Set(named.filter((id) => id !== null))].slice(0, shownStories);
  for (const id of ids) {
    const job = await direct.query(
      "select to_jsonb(j) as row from leasehold.jobs j where id = $1",
      [id],
    );
    console.log(`\n${JSON.stringify(job.rows[0]?.row ?? `there is no job ${id}`)}`);
    const events = await direct.query(
      "select * from leasehold.job_events where job_id = $1 order by id",
      [id],
    );
    for (const event of events.rows) console.log(`  ${JSON.stringify(event)}`);
    for (const table of ["effects", "guarded", "attempts"]) {
      const { rows } = await direct.query(`select * from app.${table} where job_id = $1`, [id]);
      if (rows.length > 0) console.log(`  ${table}: ${JSON.stringify(rows)}`);
    }
  }
}

const uuids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

function counted(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].sort(([a], [b]) => a.localeCompare(b));
  return sorted.map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}
