import type { WorkerReport } from "../protocol.ts";

/** One report, and who sent it. */
export type Entry = WorkerReport & { readonly worker: string };

type EntryOf<Type extends Entry["type"]> = Extract<Entry, { type: Type }>;

/**
 * All that the workers reported, in the order of its arrival. What is waited for may have happened
 * already: `first` looks back before it waits, so it makes no difference who was faster.
 */
export class Journal {
  readonly entries: Entry[] = [];
  readonly #told: (entry: Entry) => void;
  readonly #waiting = new Set<(entry: Entry) => void>();

  /** `told` receives each entry as it comes. */
  constructor(told: (entry: Entry) => void = () => {}) {
    this.#told = told;
  }

  write(entry: Entry): void {
    this.entries.push(entry);
    this.#told(entry);
    for (const look of this.#waiting) look(entry);
  }

  /** The first entry of this type that fits. */
  first<Type extends Entry["type"]>(
    type: Type,
    fits: (entry: EntryOf<Type>) => boolean,
  ): Promise<EntryOf<Type>> {
    const wanted = (entry: Entry): entry is EntryOf<Type> =>
      entry.type === type && fits(entry as EntryOf<Type>);
    const found = this.entries.find(wanted);
    if (found) return Promise.resolve(found);
    return new Promise((resolve) => {
      const look = (entry: Entry): void => {
        if (!wanted(entry)) return;
        this.#waiting.delete(look);
        resolve(entry);
      };
      this.#waiting.add(look);
    });
  }

  all<Type extends Entry["type"]>(type: Type): EntryOf<Type>[] {
    return this.entries.filter((entry): entry is EntryOf<Type> => entry.type === type);
  }
}
