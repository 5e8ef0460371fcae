import type { StandardSchemaV1 } from "@standard-schema/spec";
import { cleanText, read } from "./describe-error.ts";
import { invalidArgument, type LeaseholdError, leaseholdError } from "./errors.ts";
import { pathText } from "./options.ts";

export type { StandardSchemaV1 } from "@standard-schema/spec";

/** A schema of any library that follows standardschema.dev (Zod, Valibot, ArkType), or none. */
export type PayloadSchema = StandardSchemaV1 | undefined;

/** What a caller may pass; `unknown` without a schema. */
export type Input<Schema extends PayloadSchema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : unknown;

/** What the handler receives, defaults and transforms applied; `unknown` without a schema. */
export type Output<Schema extends PayloadSchema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : unknown;

/** How many issues a message lists. */
const maxIssues = 5;

/**
 * The value as `schema` gives it back, or the value itself without a schema. `what` is the root of
 * the paths in messages: "payload".
 *
 * Throws LH103 where the schema finds issues, which lists the first five with their paths
 * (`payload.emailId: Invalid UUID`), or where the schema itself throws (its error is the cause);
 * LH002 where `schema` is no Standard Schema.
 */
export async function validatePayload<Schema extends PayloadSchema>(
  schema: Schema,
  value: unknown,
  what = "payload",
): Promise<Output<Schema>> {
  if (schema === undefined) return value as Output<Schema>;
  const result = await run(requireSchema(`the schema of ${what}`, schema), value, what);
  if (result.issues) throw refused(what, result.issues);
  return result.value as Output<Schema>;
}

/** `value` as a Standard Schema. Throws LH002, which names the option, where it is none. */
export function requireSchema(name: string, value: unknown): StandardSchemaV1 {
  const validate = read(read(value, "~standard"), "validate");
  if (typeof validate === "function") return value as StandardSchemaV1;
  throw invalidArgument(
    name,
    value,
    "a schema of a Standard Schema library: Zod, Valibot, ArkType",
  );
}

async function run(schema: StandardSchemaV1, value: unknown, what: string) {
  try {
    const result = await schema["~standard"].validate(value);
    // Read here, so that an answer of the wrong shape counts as the schema's own fault.
    return result.issues ? { issues: [...result.issues] } : { value: result.value };
  } catch (cause) {
    throw leaseholdError(
      "LH103",
      `${what} can't be checked, since its schema threw`,
      "See the cause; a schema should answer issues rather than throw.",
      { cause },
    );
  }
}

function refused(what: string, issues: readonly StandardSchemaV1.Issue[]): LeaseholdError {
  const lines = issues.slice(0, maxIssues).map((issue) => issueText(what, issue));
  if (issues.length > maxIssues) lines.push(`and ${issues.length - maxIssues} more`);
  const list = lines.length > 0 ? lines.join("; ") : "its schema names no issue";
  return leaseholdError("LH103", `${what} is not valid: ${list}`, `Correct the ${what}.`);
}

/** `payload.emailId: Invalid UUID`, for the schema's own messages as short as need be. */
function issueText(what: string, issue: StandardSchemaV1.Issue): string {
  const path = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  return `${pathText(what, path)}: ${cleanText(String(issue.message), 200).replace(/\s+/g, " ")}`;
}
