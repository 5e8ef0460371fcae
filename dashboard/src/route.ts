import { signal } from "@preact/signals";

/** Where one is: `view` and what it shows, all of it in the URL's query. */
export type Place = Readonly<Record<string, string>>;

function read(): Place {
  const { api: _, ...place } = Object.fromEntries(new URLSearchParams(location.search));
  return { view: "overview", ...place };
}

export const place = signal<Place>(read());

addEventListener("popstate", () => {
  place.value = read();
});

/** The query of a place; what is empty is left out. */
export function hrefOf(to: Place): string {
  const given = Object.entries(to).filter(([, value]) => value !== "");
  return `?${new URLSearchParams(given)}`;
}

/** Goes there. `replace` keeps the way back as it is, for what is typed letter by letter. */
export function go(to: Place, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", hrefOf(to));
  place.value = read();
  if (!replace) scrollTo(0, 0);
}
