/** What is needed of the browser's document, so that its types stay out of the rest of the package. */
interface Page {
  readonly visibilityState: string;
  addEventListener(type: "visibilitychange", listener: () => void): void;
  removeEventListener(type: "visibilitychange", listener: () => void): void;
}

/** There is none on a server, and none in React Native. */
function page(): Page | undefined {
  return (globalThis as { document?: Page }).document;
}

/** Whether nobody can see the page: another tab is in front, or the window is minimized. */
export function isHidden(): boolean {
  return page()?.visibilityState === "hidden";
}

/** Calls `listener` whenever the page was hidden or shown; answers how to stop that. */
export function watchPage(listener: () => void): () => void {
  const watched = page();
  watched?.addEventListener("visibilitychange", listener);
  return () => watched?.removeEventListener("visibilitychange", listener);
}
