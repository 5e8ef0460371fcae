import type { Decision } from "./decide.ts";
import { encode } from "./text-file.ts";

/** The changes as one unified diff, which `git apply` and `patch -p1` take; "" for none. */
export async function unifiedDiff(decisions: readonly Decision[]): Promise<string> {
  const { formatPatch, structuredPatch } = await import("diff"); // for this command alone
  const diffs = decisions.map(({ path, before, after }) => {
    const created = before === undefined;
    const [from, old] = created ? ["/dev/null", ""] : [`a/${path}`, encode(before.text, before)];
    const patch = structuredPatch(from, `b/${path}`, old, after);
    return formatPatch({ ...patch, isGit: true, isCreate: created });
  });
  return diffs.join("").trimEnd();
}
