import { attempt, cleanText, describeError, read } from "./describe-error.ts";
import { invalidArgument, show } from "./errors.ts";
import { callSafely } from "./events.ts";

/** Where leasehold logs to. A pino logger fits as it is; so does `console`. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to every line; without it leasehold merges them itself. */
  child?(fields: object): Logger;
}

const levels = ["debug", "info", "warn", "error"] as const;

type Level = (typeof levels)[number];

/** The most characters of one line on the console. */
const maxLineLength = 20_000;

/** Logs nothing. */
export const silentLogger: Logger = fromWrite(() => {});

/**
 * The default: warnings and errors on the console, one line each, the fields as JSON behind the
 * message. Debug and info are left out, since a job that went well is no news.
 */
export const consoleLogger: Logger = {
  ...silentLogger,
  warn: (fields, message) => console.warn(line(fields, message)),
  error: (fields, message) => console.error(line(fields, message)),
};

/** `logger` with `fields` added to every line; a line's own fields win over them. */
export function childLogger(logger: Logger, fields: object): Logger {
  return typeof logger.child === "function" ? logger.child(fields) : merging(logger, fields);
}

/**
 * `logger` made harmless: what it throws, or rejects with, is dropped, so that a full disk under
 * the log never fails a job. Its children are harmless too.
 *
 * Throws LH002 where `logger` lacks one of debug, info, warn and error.
 */
export function safeLogger(logger: unknown): Logger {
  if (!isLogger(logger)) {
    const accepted = "an object with the methods debug, info, warn and error: pino, or console";
    throw invalidArgument("logger", logger, accepted);
  }
  return {
    ...fromWrite((level, fields, message) => {
      callSafely(
        () => logger[level](fields, message),
        () => {},
      );
    }),
    child: (fields) => {
      const child = attempt(() => childLogger(logger, fields));
      return safeLogger(isLogger(child) ? child : merging(logger, fields));
    },
  };
}

function isLogger(value: unknown): value is Logger {
  return levels.every((level) => typeof read(value, level) === "function");
}

function merging(logger: Logger, fields: object): Logger {
  return fromWrite((level, own, message) => logger[level]({ ...fields, ...own }, message));
}

function fromWrite(write: (level: Level, fields: object, message: string) => void): Logger {
  return {
    debug: (fields, message) => write("debug", fields, message),
    info: (fields, message) => write("info", fields, message),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
  };
}

/** One line, whatever the message and fields hold: no forged lines, no terminal escapes. */
function line(fields: object, message: string): string {
  const entries = attempt(() => Object.entries(fields)) ?? [];
  const parts = entries
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${JSON.stringify(key)}:${fieldText(value)}`);
  const json = parts.length > 0 ? ` {${parts.join(",")}}` : "";
  return cleanText(`leasehold: ${message}${json}`, maxLineLength).replace(
    /[\n\t\u2028\u2029]/g,
    " ",
  );
}

/** Each field on its own, so that one circular value does not cost the others. */
function fieldText(value: unknown): string {
  return attempt(() => JSON.stringify(value, readable)) ?? JSON.stringify(show(value));
}

/** What JSON would throw on or empty, made readable. */
function readable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return value instanceof Error ? describeError(value) : value;
}
