import type { NoticeLanguage, NoticeTexts } from "../notice.ts";

/** The languages in which the library has a text for every notice. */
const ownLanguages: readonly string[] = ["en", "ja"] satisfies NoticeLanguage[];

/**
 * The first language of Accept-Language, by its q, in which there is a text for this notice: the
 * library's own, or of the job's `texts`. "en" where there is none.
 */
export function languageOf(
  acceptLanguage: string | null,
  notice: string,
  texts: NoticeTexts | undefined,
): string {
  const has = (tag: string) =>
    ownLanguages.includes(tag) || (texts !== undefined && hasText(texts, tag, notice));
  return wanted(acceptLanguage ?? "").find((tag) => has(tag) || has(baseOf(tag))) ?? "en";
}

function hasText(texts: NoticeTexts, tag: string, notice: string): boolean {
  const own = Object.hasOwn(texts, tag) ? texts[tag] : undefined;
  return own !== undefined && Object.hasOwn(own, notice);
}

/** "ja-JP" is a kind of "ja". */
function baseOf(tag: string): string {
  return tag.split("-")[0] ?? tag;
}

/** The tags in the order of their q; those with q=0 are not wanted at all. */
function wanted(acceptLanguage: string): string[] {
  // No browser sends more, and a header of 16 KB must not cost more than one of a line.
  const ranges = acceptLanguage.split(",", 20).map((range) => {
    const [tag = "", ...parameters] = range.split(";").map((part) => part.trim());
    const q = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2);
    return { tag: canonical(tag), q: q === undefined ? 1 : Number(q) };
  });
  return ranges
    .filter(({ tag, q }) => tag !== "" && q > 0)
    .sort((a, b) => b.q - a.q)
    .map(({ tag }) => tag);
}

/** Tags are compared in their usual spelling: "JA-jp" is "ja-JP". */
function canonical(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? "";
  } catch {
    return ""; // "*" too: it names no language, and so the default serves.
  }
}
