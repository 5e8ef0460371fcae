import { attempt } from "../../../describe-error.ts";

/** A string, or a comment, or a comma that only closes a list: what a JSON parser minds but the first. */
const piece =
  /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*[}\]])/g;

/** JSON with comments and trailing commas, as tsconfig.json is written; undefined for what is none. */
export function parseJsonc(text: string): unknown {
  return attempt(() => JSON.parse(text.replace(piece, (_, string?: string) => string ?? "")));
}
