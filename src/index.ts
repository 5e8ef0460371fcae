export { type AbortCause, JobAbortedError } from "./abort.ts";
export type { AlertsPage, LeaseholdAlert, OnAlert } from "./alerts.ts";
export type { KeepAlive } from "./background.ts";
export { classify, PermanentError, type Verdict } from "./classify.ts";
export type { EnqueueCallOptions, Leasehold, LeaseholdOptions } from "./client.ts";
export type {
  Credits,
  CreditsCheck,
  EntriesPage,
  Entry,
  GrantAnswer,
  PageOptions,
  RefundAnswer,
} from "./credits.ts";
export type {
  Arguments,
  Database,
  DatabaseTransaction,
  ListenHooks,
  Listening,
} from "./database.ts";
export {
  type Classify,
  defineJob,
  type Handled,
  handle,
  type JobDefinition,
  type JobOptions,
} from "./define.ts";
export { describeError, type ErrorDescription } from "./describe-error.ts";
export type { DrainOptions, DrainReason, DrainReport } from "./drain.ts";
export type { Duration } from "./duration.ts";
export {
  DatabaseError,
  type ErrorCode,
  errorCodes,
  InvalidArgumentError,
  InvalidPayloadError,
  LeaseholdError,
  LeaseLostError,
  leaseholdError,
  SchemaError,
} from "./errors.ts";
export type { FinishedJob } from "./finish.ts";
export type { Load, LoadContext } from "./flight.ts";
export type { FunctionName } from "./functions.ts";
export type { Job, TraceContext } from "./job.ts";
export type { EndEvent, JobEvent, LeaseholdEvents } from "./job-event.ts";
export { createLeasehold } from "./leasehold.ts";
export { consoleLogger, type Logger, silentLogger } from "./logger.ts";
export { type NoticeCode, type NoticeTexts, noticeCodes, noticeText } from "./notice.ts";
export type { EnqueueAnswer, EnqueueItem, EnqueueOptions, JobStatus } from "./queue.ts";
export type { LedgerAnswer, Settlement, SettlementContext } from "./settlement.ts";
export type { CacheOptions, InvalidateOptions, SingleFlightOptions } from "./single-flight.ts";
export type { StartAnswer, StartOptions } from "./start.ts";
export type { CancelAnswer, JobMoney, JobState, OwnerOptions, RetryAnswer } from "./status.ts";
export type {
  AttemptEnd,
  AttemptStart,
  DatabaseCall,
  Send,
  Telemetry,
  TelemetryClient,
} from "./telemetry.ts";
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  NodePostgresTransaction,
  PGliteTransaction,
  PostgresJsTransaction,
  PrismaTransaction,
  TransactionHandle,
} from "./tx-handle.ts";
export type { WorkOptions } from "./work-options.ts";
export type { WorkReport } from "./work-report.ts";
export type { Worker, WorkerHealth } from "./worker.ts";
