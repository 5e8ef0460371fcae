/** A number with three digits that say something, thousands parted: "41,300", "0.94". */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const magnitude = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  if (magnitude >= 2) {
    const unit = 10 ** Math.max(0, magnitude - 2);
    return (Math.round(value / unit) * unit).toLocaleString("en");
  }
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(2 - magnitude, 3) });
}

/** The same where there is little room, at an axis: "40k", "1.5M". */
export function short(value: number): string {
  const [divisor, letter] =
    Math.abs(value) >= 1e6 ? [1e6, "M"] : Math.abs(value) >= 1e3 ? [1e3, "k"] : [1, ""];
  return `${Number((value / divisor).toPrecision(3))}${letter}`;
}
