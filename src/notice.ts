import { invalidArgument } from "./errors.ts";
import { knownOptions } from "./options.ts";

/** The languages of the library's own texts. */
export type NoticeLanguage = "en" | "ja";

/** Texts by language (a BCP 47 tag such as "en") and notice code. */
export type NoticeTexts = Readonly<Record<string, Partial<Readonly<Record<string, string>>>>>;

/**
 * What is said to the person who waits, by the code that SQL's `status` computes from status and money
 * of one row: the status, and behind it the money where the job has any. None says that nothing was
 * charged unless the ledger does: `given_back`, `refunded` and `not_charged` are facts, `checking` and
 * `unknown` promise nothing, and a plain `failed` does not speak of money at all.
 */
const own = {
  en: {
    queued: "Waiting to start.",
    running: "In progress.",
    retrying: "It did not work yet and is being tried again.",
    cancelling: "Being cancelled.",
    completed: "Done.",
    completed_captured: "Done. Your credits were charged.",
    completed_refunded: "Done. Your credits were refunded.",
    failed: "It failed.",
    failed_given_back: "It failed. You were not charged: your credits are back.",
    failed_refunded: "It failed. Your charge was refunded.",
    failed_not_charged: "It failed. You were not charged.",
    failed_checking: "It was interrupted. We are checking whether you were charged.",
    failed_charged: "It failed after you were charged. Please contact support.",
    failed_unknown:
      "It failed, and we could not find out whether you were charged. Please contact support.",
    cancelled: "Cancelled.",
    cancelled_given_back: "Cancelled. You were not charged: your credits are back.",
    cancelled_refunded: "Cancelled. Your charge was refunded.",
    cancelled_not_charged: "Cancelled. You were not charged.",
    cancelled_checking: "Cancelled. We are checking whether you were charged.",
    cancelled_charged: "Cancelled after you were charged. Please contact support.",
    cancelled_unknown:
      "Cancelled, and we could not find out whether you were charged. Please contact support.",
  },
  ja: {
    queued: "開始を待っています。",
    running: "処理中です。",
    retrying: "まだ完了していません。もう一度試しています。",
    cancelling: "キャンセルしています。",
    completed: "完了しました。",
    completed_captured: "完了しました。クレジットを使用しました。",
    completed_refunded: "完了しました。クレジットは返金済みです。",
    failed: "処理に失敗しました。",
    failed_given_back: "処理に失敗しました。課金されていません。クレジットは戻りました。",
    failed_refunded: "処理に失敗しました。課金は返金済みです。",
    failed_not_charged: "処理に失敗しました。課金されていません。",
    failed_checking: "処理が中断されました。課金の有無を確認しています。",
    failed_charged: "課金の後に処理が失敗しました。サポートにお問い合わせください。",
    failed_unknown:
      "処理に失敗し、課金の有無を確認できませんでした。サポートにお問い合わせください。",
    cancelled: "キャンセルしました。",
    cancelled_given_back: "キャンセルしました。課金されていません。クレジットは戻りました。",
    cancelled_refunded: "キャンセルしました。課金は返金済みです。",
    cancelled_not_charged: "キャンセルしました。課金されていません。",
    cancelled_checking: "キャンセルしました。課金の有無を確認しています。",
    cancelled_charged: "課金の後にキャンセルされました。サポートにお問い合わせください。",
    cancelled_unknown:
      "キャンセルしましたが、課金の有無を確認できませんでした。サポートにお問い合わせください。",
  },
} as const satisfies Record<NoticeLanguage, Record<string, string>>;

/** A notice as `status` answers it. */
export type NoticeCode = keyof (typeof own)["en"];

/** All codes that SQL's `status` may answer as a notice. */
export const noticeCodes = Object.keys(own.en) as readonly NoticeCode[];

export interface NoticeOptions {
  /** The wanted language, as a BCP 47 tag such as "ja-JP". Default "en", also where none fits. */
  language?: string;
  /** Texts that go before the library's own, as in `defineJob`. */
  texts?: NoticeTexts | undefined;
}

/**
 * The text of a notice. A code that is not known (of a newer schema) gets the text of its status,
 * which promises nothing about money.
 */
export function noticeText(code: string, { language = "en", texts }: NoticeOptions = {}): string {
  const [status = ""] = code.split("_");
  for (const tag of tags(language)) {
    const found = texts?.[tag]?.[code] ?? ownText(tag, code);
    if (found !== undefined) return found;
  }
  return texts?.en?.[code] ?? ownText("en", code) ?? ownText("en", status) ?? code;
}

/** "ja-JP" asks for ja-JP, then ja. */
function tags(language: string): string[] {
  const [first = ""] = language.split("-");
  return [...new Set([language, first])];
}

function ownText(tag: string, code: string): string | undefined {
  const texts: Readonly<Record<string, string>> | undefined = Object.hasOwn(own, tag)
    ? own[tag as NoticeLanguage]
    : undefined;
  return texts !== undefined && Object.hasOwn(texts, code) ? texts[code] : undefined;
}

/** Throws LH002, LH003: a misspelt code would never be shown. */
export function checkedNotices(notices: NoticeTexts): NoticeTexts {
  if (typeof notices !== "object" || notices === null) {
    throw invalidArgument("notices", notices, "texts by language and code");
  }
  for (const [language, texts] of Object.entries(notices)) {
    if (texts === undefined) continue;
    knownOptions(`notices.${language}`, texts, noticeCodes);
    for (const [code, value] of Object.entries(texts)) {
      if (typeof value !== "string" || value.trim() === "") {
        throw invalidArgument(`notices.${language}.${code}`, value, "a text");
      }
    }
  }
  return notices;
}
