/** What the process ends with; part of the interface, since scripts and schedulers read it. */
export const exitCodes = {
  /** Done, also where jobs of a drain failed: that is the jobs' business, and the queue has it. */
  done: 0,
  /** The operation failed: the database can't be reached, the file of a drain is broken. */
  failed: 1,
  /** The command line is wrong. Nothing was opened, or the database refused a value. */
  usage: 2,
  /** Refused because of a job's state: unknown, conflict, wrong status, finished; or for some ids. */
  refused: 3,
  /** The command behind `dev --` can't be run, as shells have it. */
  notRunnable: 126,
  /** There is no such command. */
  notFound: 127,
  /** Ctrl-C, after the job in hand. */
  interrupted: 130,
  /** SIGTERM, after the job in hand. */
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
