import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Overview } from "../types.ts";

const height = 180;

/** What ended over time: completed and failed, as lines over one axis. */
export function EndedChart({ ended }: { ended: Overview["ended"] }) {
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const from = Date.parse(ended.from) / 1_000;
  const data: uPlot.AlignedData = [
    ended.completed.map((_, i) => from + ((i + 0.5) * ended.part_ms) / 1_000),
    [...ended.completed],
    [...ended.failed],
  ];
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; the data follow below
  useEffect(() => {
    if (root.current === null) return;
    const made = new uPlot(optionsFor(root.current), data, root.current);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      if (root.current) made.setSize({ width: root.current.clientWidth, height });
    });
    resized.observe(root.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => made.redraw(false, true);
    scheme.addEventListener("change", redraw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener("change", redraw);
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data));
  const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
  const told = `${ended.estimated ? "About " : ""}${sum(ended.completed)} completed and ${sum(ended.failed)} failed in this period`;
  return <div ref={root} class="chart" role="img" aria-label={told} />;
}

function optionsFor(element: HTMLElement): uPlot.Options {
  const color = (name: string) => () => getComputedStyle(element).getPropertyValue(name);
  const axis = {
    stroke: color("--faint"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    cursor: { y: false },
    scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      axis,
      {
        ...axis,
        size: 56,
        incrs: [
          1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6,
        ],
      },
    ],
    series: [
      {},
      { label: "completed", stroke: color("--completed"), width: 2, points: { show: false } },
      { label: "failed", stroke: color("--failed"), width: 2, points: { show: false } },
    ],
  };
}
