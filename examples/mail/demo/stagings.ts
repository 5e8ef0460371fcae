import type { ProviderControl } from "../provider/client.ts";
import type { PlannedMessage, Scenario } from "../scenarios.ts";
import type { Crew } from "./crew.ts";
import type { Journal } from "./journal.ts";

/** What the stagings act on. */
export interface Stage {
  readonly plan: readonly PlannedMessage[];
  readonly control: ProviderControl;
  readonly crew: Crew;
  readonly journal: Journal;
  /** Says what the demo has just done. */
  readonly say: (messageId: string, what: string) => void;
}

/** Who was interrupted in which message. */
export interface Victim {
  readonly worker: string;
  readonly messageId: string;
}

/** Kills a worker in the middle of a message, and hires another. */
export async function stageKill(stage: Stage): Promise<Victim> {
  const victim = await workerInTheMiddle(stage, "SIGKILL");
  const { worker, messageId } = victim;
  await stage.crew.kill(worker);
  stage.say(messageId, `SIGKILL to ${worker} in the middle; ${stage.crew.hire()} is hired`);
  return victim;
}

/**
 * Stops a worker in the middle of a message until another has claimed it and is in the middle too,
 * and lets it go on: it wakes up without knowing that time has passed. Nothing but the generation
 * tells the two apart. The message is sent on only after the first one was refused.
 */
export async function stageStop(stage: Stage): Promise<Victim> {
  const { crew, control, journal, say } = stage;
  const victim = await workerInTheMiddle(stage, "SIGSTOP");
  const { worker, messageId } = victim;
  crew.signal(worker, "SIGSTOP");
  say(messageId, `SIGSTOP to ${worker} in the middle`);
  // It finds the first attachment stored, and waits for the rest.
  const other = await journal.first(
    "kept",
    (entry) => entry.messageId === messageId && entry.worker !== worker,
  );
  crew.signal(worker, "SIGCONT");
  say(messageId, `SIGCONT to ${worker}, while ${other.worker} is at work on the message`);
  await journal.first("stale", (entry) => entry.worker === worker);
  await control.letGo(messageId);
  return victim;
}

/** Gives the API key its rights once it has been refused. */
export async function stageRights({ control, say, plan }: Stage): Promise<void> {
  await control.grantRights();
  say(messageOf(plan, "refuses until rights are granted"), "the API key has its rights now");
}

/**
 * Waits until a worker has stored one attachment of the message and the provider holds the rest
 * back: there it stays as long as it pleases the demo, so nothing is a matter of luck.
 */
async function workerInTheMiddle(
  { plan, control, journal }: Stage,
  staged: NonNullable<Scenario["staged"]>,
): Promise<Victim> {
  const messageId = plan.find(({ scenario }) => scenario.staged === staged)?.id ?? "";
  const worker = await control.held(messageId);
  await journal.first(
    "stored",
    (entry) => entry.worker === worker && entry.messageId === messageId,
  );
  return { worker, messageId };
}

/** The first message with which the provider behaves in this way. */
export function messageOf(
  plan: readonly PlannedMessage[],
  behaviour: Scenario["provider"],
): string {
  return plan.find(({ scenario }) => scenario.provider === behaviour)?.id ?? "";
}
