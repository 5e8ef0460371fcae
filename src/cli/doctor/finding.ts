export type Severity = "critical" | "warning" | "info";

/** One thing that is not as it should be, and what mends it. */
export interface Finding {
  readonly check: string;
  readonly severity: Severity;
  readonly finding: string;
  /** A command, or what else is to be done. */
  readonly fix: string;
}

const finding =
  (severity: Severity) =>
  (check: string, text: string, fix: string): Finding => ({ check, severity, finding: text, fix });

export const critical = finding("critical");
export const warning = finding("warning");
export const info = finding("info");
