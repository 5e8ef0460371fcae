import type { Series } from "../harness/figures.ts";
import { short } from "./numbers.ts";
import { scaleTo } from "./scale.ts";
import { colours, element, line, picture, round, text } from "./svg.ts";

const width = 760;
const height = 300;
const left = 56;
const right = 16;
const below = 42;

/** One contender's line. */
export interface Line {
  readonly contender: string;
  readonly series: Series;
}

/** The same series of several contenders over one axis. All have the same units. */
export function lines(title: string, all: readonly Line[]): string {
  const points = all.flatMap(({ series }) => series.points);
  const above = 34 + 18 * Math.ceil(all.length / 3);
  const x = scaleTo(Math.max(0, ...points.map(([each]) => each)), width - left - right, 8);
  const y = scaleTo(Math.max(0, ...points.map(([, each]) => each)), height - above - below);
  const at = ([px, py]: readonly [number, number]): string =>
    `${round(left + x.at(px))},${round(height - below - y.at(py))}`;
  const { x: xName = "", y: yName = "" } = all[0]?.series ?? {};
  return picture(width, height, title, [
    text(8, 16, `${title}, ${yName}`, { class: "head" }),
    ...all.map(({ contender }, i) => key(contender, i)),
    ...y.ticks.flatMap((tick) => {
      const level = height - below - y.at(tick);
      const label = text(left - 8, level + 4, short(tick), {
        "text-anchor": "end",
        class: "small",
      });
      return [line(left, level, width - right, level, "grid"), label];
    }),
    ...x.ticks.map((tick) => {
      const attributes = { "text-anchor": "middle", class: "small" };
      return text(left + x.at(tick), height - below + 16, short(tick), attributes);
    }),
    text(width - right, height - 8, xName, { "text-anchor": "end", class: "small" }),
    ...all.map(({ series }, i) =>
      element("polyline", {
        points: series.points.map(at).join(" "),
        class: `curve line${i % colours}`,
      }),
    ),
  ]);
}

/** Three in a row. */
function key(contender: string, i: number): string {
  const x = left + (i % 3) * 230;
  const y = 34 + Math.floor(i / 3) * 18;
  const mark = element("rect", { x, y: y - 8, width: 14, height: 4, class: `key${i % colours}` });
  return mark + text(x + 20, y - 2, contender);
}
