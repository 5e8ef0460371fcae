/** The strings and numbers of JSON text; strings too, since digits within one are no number. */
const stringOrNumber = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * The first number of JSON text that JavaScript would change by reading it: a whole number beyond
 * 2^53, digits past the seventeenth, 1e400.
 */
export function findInexactNumber(json: string): string | undefined {
  for (const [found] of json.matchAll(stringOrNumber)) {
    if (!found.startsWith('"') && !isExact(found)) return found;
  }
  return undefined;
}

/** `JSON.parse`, but a number that JavaScript would change is answered as its text. */
export function parseExactly(json: string): unknown {
  return JSON.parse(
    json.replace(stringOrNumber, (found) =>
      found.startsWith('"') || isExact(found) ? found : `"${found}"`,
    ),
  );
}

function isExact(number: string): boolean {
  return normalForm(String(Number(number))) === normalForm(number);
}

/** The same text for the same value: "1.50e3" and "1500" are both "15e2". */
function normalForm(number: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number);
  if (parts === null) return number; // "Infinity", which no JSON says
  const [, sign, whole, fraction = "", exponent = "0"] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${power}`;
}
