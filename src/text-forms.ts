const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const moment = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$/;

/** Whether `value` has the form of a job's id. */
export function isJobId(value: string): boolean {
  return uuid.test(value);
}

/**
 * Whether `value` is a moment in ISO 8601 with a zone, as the SQL functions take it. Whether that day
 * exists (30 February) is left to the database.
 */
export function isMoment(value: string): boolean {
  return moment.test(value);
}
