/**
 * A browser that was started with LANG=C names a language that its own Intl refuses, and uPlot hands
 * that on as soon as it is loaded. So this comes before all else.
 */
function known(language: string): string {
  try {
    new Intl.NumberFormat(language);
    return language;
  } catch {
    return "en";
  }
}

export const locale = known(navigator.language);

if (locale !== navigator.language) {
  Object.defineProperty(navigator, "language", { value: locale, configurable: true });
}
