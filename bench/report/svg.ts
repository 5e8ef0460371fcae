type Attributes = Readonly<Record<string, string | number>>;

/** An element, its attributes and texts escaped; `inside` is markup already. */
export function element(name: string, attributes: Attributes, ...inside: string[]): string {
  const shown = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`);
  if (inside.length === 0) return `<${name}${shown.join("")}/>`;
  return `<${name}${shown.join("")}>${inside.join("")}</${name}>`;
}

export function text(x: number, y: number, words: string, attributes: Attributes = {}): string {
  return element("text", { x: round(x), y: round(y), ...attributes }, escaped(words));
}

export function line(x1: number, y1: number, x2: number, y2: number, name: string): string {
  const at = { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2) };
  return element("line", { ...at, class: name });
}

/**
 * A whole picture on no background, whose colours suit a light page and a dark one. `title` is what
 * a screen reader says.
 */
export function picture(width: number, height: number, title: string, parts: string[]): string {
  const attributes = {
    ...{ xmlns: "http://www.w3.org/2000/svg", role: "img", "aria-label": title },
    ...{ width, height, viewBox: `0 0 ${width} ${height}` },
  };
  return `${element("svg", attributes, element("title", {}, escaped(title)), style, ...parts)}\n`;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(value: string | number): string {
  return String(value)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Lines are told apart by these; the first is leasehold's. */
export const colours = 8;

const light = [
  "#0969da",
  "#bc4c00",
  "#1a7f37",
  "#8250df",
  "#bf3989",
  "#9a6700",
  "#57606a",
  "#0f766e",
];
const dark = [
  "#58a6ff",
  "#f0883e",
  "#3fb950",
  "#bc8cff",
  "#f778ba",
  "#d29922",
  "#9198a1",
  "#2dd4bf",
];

function rules(palette: readonly string[], words: string, faint: string, bar: string): string {
  return [
    `text{fill:${words}}`,
    `.grid{stroke:${faint}}`,
    `.bar{fill:${bar}}`,
    `.own{fill:${palette[0]}}`,
    `.dot{fill:${words}}`,
    ...palette.map((colour, i) => `.line${i}{stroke:${colour}}.key${i}{fill:${colour}}`),
  ].join("");
}

const style = element(
  "style",
  {},
  "text{font:12px system-ui,sans-serif}.head{font-weight:600}.small{font-size:11px}" +
    ".dot{opacity:.75}.curve{fill:none;stroke-width:1.8;stroke-linejoin:round}" +
    rules(light, "#1f2328", "#d1d9e0", "#a8b3bf") +
    `@media(prefers-color-scheme:dark){${rules(dark, "#e6edf3", "#3d444d", "#6e7681")}}`,
);
