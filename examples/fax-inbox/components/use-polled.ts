"use client";

import { useCallback, useEffect, useState } from "react";

const everyMs = 2_000;

/** What an address answered last. */
export interface Polled<T> {
  readonly value: T;
  /** Whether the last question got no answer, so that `value` may be old. */
  readonly isOld: boolean;
  /** Asks now. */
  refresh(): void;
}

/** Asks `url` for JSON every two seconds, as long as the page is seen. `initial` came with the page. */
export function usePolled<T>(url: string, initial: T): Polled<T> {
  const [value, setValue] = useState(initial);
  const [isOld, setIsOld] = useState(false);
  const [asked, ask] = useState(0);

  useEffect(() => {
    const over = new AbortController();
    const look = async (): Promise<void> => {
      if (document.visibilityState === "hidden") return;
      const answer = await fetch(url, { signal: over.signal, cache: "no-store" }).catch(() => null);
      const news = answer?.ok ? ((await answer.json().catch(() => null)) as T | null) : null;
      if (over.signal.aborted) return;
      setIsOld(news === null);
      if (news !== null) setValue(news);
    };
    let timer: ReturnType<typeof setTimeout>;
    const lookOn = async (): Promise<void> => {
      await look();
      if (!over.signal.aborted) timer = setTimeout(lookOn, everyMs);
    };
    timer = setTimeout(lookOn, asked === 0 ? everyMs : 0);
    document.addEventListener("visibilitychange", look);
    return () => {
      over.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [url, asked]);

  return { value, isOld, refresh: useCallback(() => ask((times) => times + 1), []) };
}
