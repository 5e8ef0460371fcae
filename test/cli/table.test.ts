import { describe, expect, it } from "vitest";
import { readableDuration, readableTime } from "../../src/cli/readable.ts";
import { type Column, formatFields, formatTable } from "../../src/cli/table.ts";
import { cutToWidth, displayWidth, oneLine } from "../../src/cli/text-width.ts";

interface Row {
  name: string | null;
  count?: number;
  key: string;
}

const columns: readonly Column<Row>[] = [
  ["NAME", (row) => row.name],
  ["COUNT", (row) => row.count],
  ["KEY", (row) => row.key],
];

describe("a table", () => {
  it("is aligned for the eye: 受 takes two columns, an accent of its own none", () => {
    const rows = [
      { name: "受信箱", count: 7, key: "a" },
      { name: "e\u0301te\u0301", count: 12, key: "b" },
      { name: "👍🏽", count: 3, key: "c" },
    ];
    expect(formatTable(columns, rows).split("\n")).toEqual([
      "NAME    COUNT  KEY",
      "受信箱      7  a",
      "e\u0301te\u0301        12  b",
      "👍🏽          3  c",
    ]);
  });

  it("leaves out a column that is empty everywhere, and cuts nothing", () => {
    const long = "k".repeat(500);
    const text = formatTable(columns, [{ name: null, key: long }]);
    expect(text).toBe(`KEY\n${long}`);
  });

  it("stays one line a row, and harmless, whatever is in a cell (S42)", () => {
    const text = formatTable(columns, [{ name: "a\nb\u001b[31m\u202e", key: "\ud800" }]);
    expect(text.split("\n")).toHaveLength(2);
    expect(text).toContain("a b\\u001b[31m\\u202e");
    expect(text).toContain("\ufffd");
  });

  it("shows fields by name, without those that are empty", () => {
    expect(
      formatFields([
        ["id", "x"],
        ["status", "queued"],
        ["result", null],
      ]),
    ).toBe("id      x\nstatus  queued");
  });
});

describe("what people read", () => {
  it("is a time to the second, in UTC", () => {
    expect(readableTime("2030-01-31T12:00:05.123456Z")).toBe("2030-01-31 12:00:05Z");
    expect(readableTime(null)).toBeUndefined();
  });

  it("is a length of time in its two largest units", () => {
    const ms = [0, 30, 999, 1_250, 59_999, 60_000, 245_000, 3_600_000, 93_784_000, 2 ** 31 - 1];
    expect(ms.map(readableDuration)).toEqual([
      "0ms",
      "30ms",
      "999ms",
      "1.2s",
      "59.9s",
      "1m",
      "4m 5s",
      "1h",
      "1d 2h",
      "24d 20h",
    ]);
  });

  it("is measured as terminals draw it", () => {
    expect(["", "abc", "ｱ", "ア", "한글", "🇯🇵", "❤️", "👨‍👩‍👧"].map(displayWidth)).toEqual([
      0, 3, 1, 2, 4, 2, 2, 2,
    ]);
    expect(oneLine("a\r\n  b\tc")).toBe("a b\\u0009c");
  });

  it("is cut where it is too wide, by what terminals draw", () => {
    const cut = [0, 1, 2, 3, 4, 5, 6].map((columns) => cutToWidth("a受信b", columns));
    expect(cut).toEqual(["", "…", "a…", "a…", "a受…", "a受…", "a受信b"]);
    expect(cutToWidth("plain text", 10)).toBe("plain text");
    expect(cutToWidth("plain text", 9)).toBe("plain te…");
    expect(cutToWidth("👨‍👩‍👧👨‍👩‍👧", 3)).toBe("👨‍👩‍👧…");
    expect(cutToWidth("e\u0301e\u0301e\u0301", 2)).toBe("e\u0301…");
  });
});
