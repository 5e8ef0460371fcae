import { type Change, wholeFile } from "../change.ts";
import type { Project } from "../project.ts";
import { payloadSchema } from "./sample-job.ts";

/** The definitions of jobs, which hold no handler. */
export function jobsFile({ code, packages }: Project): Change {
  const path = `${code.folder}/jobs.${code.ending}`;
  const schema = payloadSchema(packages);
  const imports = ['import { defineJob } from "leasehold";', ...(schema ? [schema.import] : [])];
  const text = `${imports.join("\n")}

// Definitions alone, so that any module may import them. What each does stands in ./leasehold.
export const greet = defineJob("greet"${schema === undefined ? "" : `, {\n  payload: ${schema.expression},\n}`});
`;
  return wholeFile(path, "the kinds of jobs", text);
}
