/**
 * The React door: follow jobs and start them from components, over the routes of leasehold's HTTP
 * door. Nothing of the server comes along, and nothing beside React is needed.
 */
export type { JobStatus } from "../queue.ts";
export type { CancelAnswer } from "../status.ts";
export {
  type Connection,
  type ConnectionOptions,
  createConnection,
  defaultConnection,
  type Fetch,
  type HeaderValues,
} from "./connection.ts";
export { isSettled, type JobView, type Money } from "./job-view.ts";
export { LeaseholdProvider, type LeaseholdProviderProps } from "./provider.ts";
export {
  type JobKey,
  type JobQuery,
  type JobQueryOptions,
  jobKey,
  jobQueryOptions,
} from "./query-options.ts";
export {
  type ConnectionOption,
  cancelJob,
  type StartAnswer,
  type StartOptions,
  startJob,
} from "./request.ts";
export { JobRequestError, type RequestFailure } from "./request-error.ts";
export type { StartOutcome } from "./starter.ts";
export { type JobSwr, type JobSwrConfig, type JobSwrRetry, jobSwr } from "./swr.ts";
export { type CancelOutcome, type JobPoll, useJob } from "./use-job.ts";
export { type JobStart, type PayloadOf, useStartJob } from "./use-start-job.ts";
