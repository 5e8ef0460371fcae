import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Begins with these files: begun last, one would run alone in the end, with cores that have nothing to do. */
export function longFirst(long: RegExp): typeof BaseSequencer {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const rank = ({ moduleId }: TestSpecification) => (long.test(moduleId) ? 0 : 1);
      return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
    }
  };
}
