/**
 * A browser's page around these tests: happy-dom's window and document, with Node's own fetch and
 * timers. (happy-dom's fetch answers a 304 to our own If-None-Match by an error.) To be imported
 * before React's DOM, which looks for a window as it is loaded.
 */
import { Window } from "happy-dom";

const window = new Window();
const { document, navigator, Event } = window;
const page = { window, document, navigator };
for (const [name, value] of Object.entries(page)) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}

const fetchAbsolute = globalThis.fetch;

/** Opens the page at `origin`: from there, as in a browser, a path is fetched. */
export function openPage(origin: string): void {
  globalThis.fetch = (input, init) =>
    fetchAbsolute(typeof input === "string" ? new URL(input, origin) : input, init);
}

/** A place to render into. */
export function container(): Element {
  return document.createElement("div") as unknown as Element;
}

/** Hides the page or shows it again, as the browser does. */
export function turnPage(visibilityState: "hidden" | "visible"): void {
  Object.defineProperty(document, "visibilityState", {
    value: visibilityState,
    configurable: true,
  });
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
}
