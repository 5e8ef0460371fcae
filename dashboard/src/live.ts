import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.ts";

/** Whether views ask again by themselves; a person may hold them still. */
export const live = signal(true);

/** Rings when something was done, and what is shown may be old. */
const done = signal(0);
export function askAgain(): void {
  done.value += 1;
}

/** The time, each second, by which ages are told. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1_000);

export interface Asked<T> {
  readonly data: T | undefined;
  readonly error: string | undefined;
}

/**
 * What the server answers, asked again every `everyMs` while the page is seen and nobody holds it
 * still, at once when it is seen again, and after each action. What was last known stays meanwhile.
 * `everyMs` 0: only after actions.
 */
export function useAsked<T>(
  api: string,
  params: Readonly<Record<string, string>> = {},
  everyMs = 3_000,
): Asked<T> {
  const key = JSON.stringify([api, params]);
  const [state, setState] = useState<Asked<T> & { key: string }>();
  const nth = useRef(0);
  const again = done.value;
  const isLive = live.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for api and params
  useEffect(() => {
    let over = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      clearTimeout(timer);
      if (document.hidden) return; // seen again, it asks
      nth.current += 1;
      const mine = nth.current;
      try {
        const data = await get<T>(api, params);
        if (!over && mine === nth.current) setState({ key, data, error: undefined });
      } catch (error) {
        const message = (error as Error).message;
        if (!over && mine === nth.current) {
          setState((before) => ({
            key,
            data: before?.key === key ? before.data : undefined,
            error: message,
          }));
        }
      }
      if (!over && isLive && everyMs > 0) timer = setTimeout(() => void ask(), everyMs);
    };
    const seen = () => void (document.hidden || ask());
    document.addEventListener("visibilitychange", seen);
    void ask();
    return () => {
      over = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [key, again, isLive, everyMs]);
  return state?.key === key ? state : { data: undefined, error: undefined };
}
