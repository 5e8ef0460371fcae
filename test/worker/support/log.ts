import type { Logger } from "../../../src/logger.ts";

/** A logger that keeps the texts of its lines, by level. */
export function keptLog(): Logger & { readonly warned: string[]; readonly informed: string[] } {
  const warned: string[] = [];
  const informed: string[] = [];
  const keep = (lines: string[]) => (_: unknown, text?: string) => void lines.push(String(text));
  const log = {
    warned,
    informed,
    debug: () => undefined,
    info: keep(informed),
    warn: keep(warned),
    error: keep(warned),
    child: () => log,
  };
  return log as never;
}
