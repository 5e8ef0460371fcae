import "./page.ts";
import { act, createElement, type ReactNode, StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { vi } from "vitest";
import { container, turnPage } from "./page.ts";

export interface Mounted<Props, Value> {
  /** What the hook answered in each render, in order. */
  readonly values: Value[];
  /** What it answered last. */
  readonly last: Value;
  render(props: Props): Promise<void>;
  unmount(): Promise<void>;
}

interface ProbeProps {
  readonly useIt: (props: unknown) => unknown;
  readonly given: unknown;
  readonly values: unknown[];
}

function Probe({ useIt, given, values }: ProbeProps): null {
  values.push(useIt(given));
  return null;
}

const mounted = new Set<() => Promise<void>>();

/** Mounts a component that does nothing but call a hook. */
export async function mountHook<Props, Value>(
  useIt: (props: Props) => Value,
  props: Props,
  { strict = false, wrap = (inner: ReactNode): ReactNode => inner } = {},
): Promise<Mounted<Props, Value>> {
  const values: Value[] = [];
  const root: Root = createRoot(container());
  const render = (given: Props) => {
    const inner = wrap(createElement(Probe, { useIt, given, values } as ProbeProps));
    return acting(async () => root.render(strict ? createElement(StrictMode, null, inner) : inner));
  };
  const unmount = async () => {
    mounted.delete(unmount);
    await acting(async () => root.unmount());
  };
  mounted.add(unmount);
  await render(props);
  return {
    values,
    get last() {
      return values.at(-1) as Value;
    },
    render,
    unmount,
  };
}

export async function unmountAll(): Promise<void> {
  for (const unmount of [...mounted]) await unmount();
}

/** Hides the page or shows it again, as the browser does. */
export async function setVisibility(visibilityState: "hidden" | "visible"): Promise<void> {
  await acting(async () => turnPage(visibilityState));
}

/** Does `work` and whatever React has to do after it. Outside of this, React works by its own clock. */
export async function acting(work: () => Promise<unknown>): Promise<void> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  try {
    await act(work as () => Promise<void>);
  } finally {
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  }
}

/** Until `check` passes. */
export async function until(check: () => boolean): Promise<void> {
  await vi.waitUntil(check, { timeout: 5_000, interval: 1 });
}
