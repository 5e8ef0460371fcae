import type { ElementHandle, Page } from "playwright-core";

/** Waits until `selector` is to be seen (or away, as `options` say); where it is not, says what is. */
export async function sees(
  page: Page,
  selector: string,
  options: { timeout?: number; state?: "attached" | "detached" } = {},
): Promise<ElementHandle> {
  try {
    return (await page.waitForSelector(selector, options)) as ElementHandle;
  } catch (cause) {
    const shown = await page.locator("body").ariaSnapshot().catch(String);
    throw new Error(`Not to be seen: ${selector}. But this is:\n${shown}`, { cause });
  }
}
