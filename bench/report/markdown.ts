import type { Results } from "../harness/results.ts";
import { benchmarkTable, markdownTable } from "./table.ts";

/** The dated report of a run: what it came to, and what it was measured on and with. */
export function markdown(results: Results): string {
  const { title, startedAt, benchmarks, omitted, failed } = results;
  const columns = contenderColumns(results);
  const absent = omitted.filter(({ benchmark }) => benchmark === "");
  const parts = [
    `# ${title}, ${startedAt.slice(0, 10)}`,
    circumstances(results),
    ...benchmarks
      .filter(({ cases }) => cases.some(({ measured }) => measured.length > 0))
      .map((each) =>
        [`## ${each.title}`, each.about, benchmarkTable(each, columns, omitted)].join("\n\n"),
      ),
    ...list(
      "Absent",
      absent.map(({ contender, reason }) => `${contender}: ${reason}.`),
    ),
    ...list(
      "Failed: no figure stands for these",
      failed.map((each) => `${each.benchmark}, ${each.case}, ${each.contender}: ${each.reason}`),
    ),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** In the order in which they are measured; variants that single benchmarks ask for come last. */
export function contenderColumns({ contenders, benchmarks }: Results): string[] {
  const measured = benchmarks.flatMap(({ cases }) =>
    cases.flatMap((each) => each.measured.map(({ contender }) => contender)),
  );
  return [...new Set([...contenders.map(({ name }) => name), ...measured])];
}

function list(title: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  return [`## ${title}`, items.map((item) => `- ${item}`).join("\n")];
}

/** Machine, versions, settings: without them a figure means nothing. */
export function circumstances(results: Results): string {
  const { machine, postgres, loadBefore, loadAfter, node, redis, options, contenders } = results;
  const settings = Object.entries(postgres.settings).map(([name, value]) => `${name} ${value}`);
  const said = Object.entries(options).map(([name, value]) => `${name} ${value}`);
  const loads = (values: readonly number[]): string => values.join(" / ") || "–";
  const table = markdownTable(
    ["contender", "versions", "settings"],
    contenders.map((each) => [
      each.name,
      Object.entries(each.versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", "),
      each.settings,
    ]),
  );
  return [
    `Medians of the rounds; in brackets what the rounds went from and to. Compare only within one run.`,
    [
      `- ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; ${machine.system}; an fdatasync takes ${machine.fdatasyncMs.toFixed(2)} ms`,
      `- load over 1 / 5 / 15 minutes: ${loads(loadBefore)} before, ${loads(loadAfter)} after (this run's own)`,
      `- PostgreSQL ${postgres.version}: ${settings.join(", ")}; Node ${node}${redis === null ? "; no Redis" : `; ${redis}`}`,
      `- from ${results.startedAt} to ${results.finishedAt}; ${said.join(", ")}`,
    ].join("\n"),
    table,
  ].join("\n\n");
}
