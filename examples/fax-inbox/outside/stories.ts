import type { Fault } from "./faults.ts";

/** What a fax may meet on its way. Plain data: the page lists it, and the stand-ins play it. */
export interface Story {
  readonly name: string;
  readonly title: string;
  readonly faults: readonly Omit<Fault, "about">[];
}

export const stories: readonly Story[] = [
  { name: "fine", title: "Nothing goes wrong", faults: [] },
  {
    name: "busy",
    title: "The provider is busy, twice (503)",
    faults: [{ at: "mail", how: 503, times: 2 }],
  },
  {
    name: "throttled",
    title: "The provider asks to wait (429)",
    faults: [{ at: "mail", how: 429, retryAfterSeconds: 5 }],
  },
  {
    name: "gone",
    title: "The provider does not have it any more (404)",
    faults: [{ at: "mail", how: 404 }],
  },
  {
    name: "refused",
    title: "The provider refuses the key, once (401)",
    faults: [{ at: "mail", how: 401 }],
  },
  {
    name: "storage-down",
    title: "The storage is down, once (503)",
    faults: [{ at: "storage", how: 503 }],
  },
  {
    name: "storage-reset",
    title: "The connection to the storage breaks, once",
    faults: [{ at: "storage", how: "reset" }],
  },
  {
    name: "storage-silent",
    title: "The storage does not answer, once",
    faults: [{ at: "storage", how: "hang" }],
  },
  {
    name: "never",
    title: "The provider is down, five times",
    faults: [{ at: "mail", how: 503, times: 5 }],
  },
];
