import type { BenchmarkResults, CaseResults } from "../harness/results.ts";
import { short, shown } from "./numbers.ts";
import { scaleTo } from "./scale.ts";
import { figuresOf, summaries } from "./summary.ts";
import { element, line, picture, round, text } from "./svg.ts";

const width = 760;
const labels = 210;
const values = 90;
const rowHeight = 22;
const barHeight = 14;
const headHeight = 30;
const axisHeight = 26;

/** A bar for each contender's median of each case's first figure, each round a dot. */
export function bars({ title, cases }: BenchmarkResults): string {
  const parts: string[] = [];
  let y = 8;
  for (const each of cases.filter(({ measured }) => measured.length > 0)) {
    const [height, drawn] = panel(each, y);
    parts.push(drawn);
    y += height;
  }
  return picture(width, y + 4, title, parts);
}

/** One case, `top` pixels from above; answers how high it is. */
function panel(each: CaseResults, top: number): [height: number, drawn: string] {
  const figure = figuresOf(each)[0];
  if (figure === undefined) return [0, ""];
  const rows = summaries(each, figure.name);
  const most = Math.max(...rows.flatMap(({ rounds }) => rounds).filter(Number.isFinite), 0);
  const scale = scaleTo(most, width - labels - values);
  const from = top + headHeight;
  const to = from + rows.length * rowHeight;
  const head = `${each.name}: ${figure.name}, ${figure.unit} (${figure.better} is better)`;
  const grid = scale.ticks.flatMap((tick) => {
    const x = labels + scale.at(tick);
    const label = text(x, to + 15, short(tick), { "text-anchor": "middle", class: "small" });
    return [line(x, from - 4, x, to, "grid"), label];
  });
  const drawn = rows.map((row, i) => {
    const y = from + i * rowHeight + (rowHeight - barHeight) / 2;
    const middle = y + barHeight / 2;
    const median = Number.isFinite(row.median) ? row.median : 0;
    const kind = row.contender.startsWith("leasehold") ? "own" : "bar";
    const size = { width: round(scale.at(median)), height: barHeight, rx: 2 };
    const dots = row.rounds.filter(Number.isFinite).map((value) =>
      element("circle", {
        cx: round(labels + scale.at(value)),
        cy: middle,
        r: 2.2,
        class: "dot",
      }),
    );
    return [
      text(labels - 8, middle + 4, row.contender, { "text-anchor": "end" }),
      element("rect", { x: labels, y, ...size, class: kind }),
      ...dots,
      text(width - values + 10, middle + 4, shown(row.median)),
    ].join("");
  });
  const height = headHeight + rows.length * rowHeight + axisHeight;
  return [height, [text(8, top + 14, head, { class: "head" }), ...grid, ...drawn].join("")];
}
