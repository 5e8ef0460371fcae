import type { Results } from "../harness/results.ts";
import { type Chart, charts } from "./charts.ts";
import { circumstances, contenderColumns } from "./markdown.ts";
import { shown } from "./numbers.ts";
import { figuresOf, summaries } from "./summary.ts";
import { markdownTable } from "./table.ts";

const begin = "<!-- results: written by bench/report.ts -->";
const end = "<!-- end of results -->";

/** Puts a run between the two marks of the README. Throws where they are missing. */
export function withResults(readme: string, part: string): string {
  const from = readme.indexOf(begin);
  const to = readme.indexOf(end);
  if (from < 0 || to < from) {
    throw new Error(
      `bench/README.md lacks its marks: put ${begin} and ${end} where the results go.`,
    );
  }
  return `${readme.slice(0, from + begin.length)}\n\n${part}\n\n${readme.slice(to)}`;
}

/** The medians of all first figures in one table, then the charts. `base` names the run's files. */
export function readmePart(results: Results, base: string): string {
  const link = `[results/${base}.md](results/${base}.md)`;
  return [
    `### ${results.title}, ${results.startedAt.slice(0, 10)}`,
    `Every figure, with what the rounds went from and to: ${link}.`,
    circumstances(results),
    mediansTable(results),
    ...charts(results).map((chart) => chartPart(chart, base)),
  ].join("\n\n");
}

export function chartFile({ name }: Chart, base: string): string {
  return `${base}-${name}.svg`;
}

function chartPart(chart: Chart, base: string): string {
  return `![${chart.title}](results/${chartFile(chart, base)})`;
}

function mediansTable(results: Results): string {
  const columns = contenderColumns(results).filter((name) =>
    results.contenders.some((each) => each.name === name),
  );
  const rows = results.benchmarks.flatMap(({ title, cases, name }) =>
    cases.flatMap((each) => {
      const main = name === "latency" ? figuresOf(each).slice(0, 3) : figuresOf(each).slice(0, 1);
      return main.map((figure) => {
        const own = summaries(each, figure.name);
        const cells = columns.map((column) => {
          const found = own.find(({ contender }) => contender === column);
          if (found === undefined) return "–";
          return `${shown(found.median)}${found.notes.length > 0 ? "*" : ""}`;
        });
        return [`${title}, ${each.name}: ${figure.name}, ${figure.unit}`, ...cells];
      });
    }),
  );
  const table = markdownTable(["", ...columns], rows);
  return `${table}\n\n\\* with a note: see the report.`;
}
