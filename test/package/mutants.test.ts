import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Fault {
  fault: string;
  file: string;
  from: string;
  to: string;
}

const faults: Fault[] = (await import(`${"../../scripts/mutants/faults"}.mjs`)).faults;

test.each(faults.map(({ fault, ...rest }) => [fault, rest] as const))(
  "the fault that %s has its place in the SQL",
  (_, { file, from, to }) => {
    const sql = readFileSync(new URL(`../../sql/${file}`, import.meta.url), "utf8");
    expect(sql.split(from)).toHaveLength(2);
    expect(to).not.toBe(from);
  },
);
