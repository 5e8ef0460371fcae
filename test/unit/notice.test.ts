import { describe, expect, test } from "vitest";
import { defineJob, noticeCodes, noticeText } from "../../src/index.ts";

const languages = ["en", "ja"];

describe("noticeText", () => {
  test("knows every code in both languages", () => {
    for (const code of noticeCodes) {
      const [en, ja] = languages.map((language) => noticeText(code, { language }));
      expect(en).toMatch(/\.$/);
      expect(ja).toMatch(/。$/);
    }
  });

  test('says "not charged" only where a ledger says so', () => {
    const says = noticeCodes.filter((code) =>
      languages.some((language) =>
        /not charged|課金されていません/.test(noticeText(code, { language })),
      ),
    );
    expect(says.sort()).toEqual([
      "cancelled_given_back",
      "cancelled_not_charged",
      "failed_given_back",
      "failed_not_charged",
    ]);
  });

  test("takes the nearest language, English where there is none", () => {
    expect(noticeText("failed", { language: "ja-JP" })).toBe("処理に失敗しました。");
    expect(noticeText("failed", { language: "fr" })).toBe("It failed.");
    expect(noticeText("failed", { language: "__proto__" })).toBe("It failed.");
  });

  test("takes a job's own texts first, and the library's for the rest", () => {
    const { notices: texts } = defineJob("assess", {
      notices: { en: { completed: "Your report is ready." }, fr: { failed: "Raté." } },
    });
    expect(noticeText("completed", { texts })).toBe("Your report is ready.");
    expect(noticeText("completed", { texts, language: "fr" })).toBe("Your report is ready.");
    expect(noticeText("failed", { texts, language: "fr-CA" })).toBe("Raté.");
    expect(noticeText("failed", { texts, language: "ja" })).toBe("処理に失敗しました。");
  });

  test("promises nothing about money for a code of a newer schema", () => {
    expect(noticeText("failed_lent")).toBe("It failed.");
    expect(noticeText("constructor")).toBe("constructor");
  });

  test.each([
    [{ en: { complete: "x" } }, "LH003"],
    [{ en: { completed: "" } }, "LH002"],
    [{ en: "x" }, "LH002"],
    ["x", "LH002"],
  ])("a definition refuses notices such as %j", (notices, code) => {
    expect(() => defineJob("assess", { notices: notices as never })).toThrow(
      expect.objectContaining({ code }),
    );
  });
});
