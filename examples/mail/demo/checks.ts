import { type Check, check } from "../expectations.ts";
import type { StoredAttachment } from "../mailbox.ts";
import type { PlannedMessage } from "../scenarios.ts";
import { attachmentPath, type StorageExpectation } from "../storage.ts";
import { seconds } from "../timing.ts";
import { exitText } from "./crew.ts";
import type { Received } from "./inbox.ts";
import type { Journal } from "./journal.ts";
import type { Exit } from "./processes.ts";
import { messageOf, type Victim } from "./stagings.ts";

/** The killed worker was killed, every other ended by itself, and its message found another. */
export function checkKilled(
  { worker, messageId }: Victim,
  exits: ReadonlyMap<string, Exit>,
  journal: Journal,
): Check[] {
  const others = [...exits].filter(([name, exit]) => name !== worker && exit.code !== 0);
  const exit = exits.get(worker);
  const taken = completedBy(messageId, journal);
  return [
    check(
      "the worker killed in the middle of a message is replaced by another one's claim",
      exit?.signal === "SIGKILL" && taken !== undefined && taken !== worker
        ? []
        : [
            `${worker} ended by ${exit && exitText(exit)}, ${messageId} completed by ${taken ?? "nobody"}`,
          ],
      `${worker} died by SIGKILL, ${taken} completed ${messageId}`,
    ),
    check(
      "every other worker ended in good order",
      others.map(([name, other]) => `${name}: ${exitText(other)}`),
    ),
  ];
}

/** Each of these writes by the stopped worker was refused; nobody else lost a lease. */
export function checkStale(
  { worker, messageId }: Victim,
  journal: Journal,
  writes: readonly string[],
): Check[] {
  const refused = journal
    .all("stale")
    .filter((entry) => entry.worker === worker && entry.messageId === messageId && entry.refused);
  const others = journal
    .all("ended")
    .filter(({ outcome }) => outcome === "lost")
    .filter((entry) => entry.worker !== worker || entry.messageId !== messageId);
  return [
    check(
      "what the stopped worker still writes is refused, while another works on its message",
      writes
        .filter((write) => !refused.some((entry) => entry.write === write))
        .map((write) => `${messageId}: the ${write} of ${worker} was not refused`),
      refused
        .map(
          ({ write, generation }) =>
            `${messageId}: ${write} of ${worker}, generation ${generation}`,
        )
        .join("\n"),
    ),
    check(
      "no other lease was lost",
      others.map((entry) => `${entry.worker} lost ${entry.messageId}`),
    ),
  ];
}

/** Whoever took over an interrupted message went on behind what was stored, and stored no file again. */
export function checkSteps(victims: readonly Victim[], journal: Journal): Check {
  const times = new Map<string, number>();
  for (const { messageId, index } of journal.all("stored")) {
    const attachment = `${messageId}, attachment ${index + 1}`;
    times.set(attachment, (times.get(attachment) ?? 0) + 1);
  }
  const again = [...times].filter(([, count]) => count > 1);
  const kept = victims.map(({ messageId }) => ({
    messageId,
    entries: journal.all("kept").filter((entry) => entry.messageId === messageId),
  }));
  return check(
    "no attachment was stored twice by attempts that followed an interruption",
    [
      ...again.map(([attachment, count]) => `${attachment}: stored ${count} times`),
      ...kept
        .filter(({ entries }) => entries.length === 0)
        .map(({ messageId }) => `${messageId}: nothing was stored before it was taken over`),
    ],
    kept
      .flatMap(({ entries }) => entries)
      .map(
        (entry) =>
          `${entry.messageId}: ${entry.worker} went on behind attachment ${entry.index + 1}`,
      )
      .join("\n"),
  );
}

/** The slow message outlived its lease's length, or the run has shown nothing. */
export function checkSlow(
  plan: readonly PlannedMessage[],
  journal: Journal,
  leaseMs: number,
): Check {
  const messageId = messageOf(plan, "sends slowly");
  const ended = journal.all("ended").find((entry) => entry.messageId === messageId);
  const tookMs = ended?.durationMs ?? 0;
  const text = `${messageId} took ${seconds(tookMs)} under a lease of ${seconds(leaseMs)}`;
  return check(
    "a lease is renewed as long as the work takes",
    tookMs > leaseMs ? [] : [text],
    text,
  );
}

/** Each announcement made a job or was recognised; each message is stored beside its job. */
export function checkInbox(
  plan: readonly PlannedMessage[],
  received: readonly Received[],
  mailIds: readonly string[],
): Check[] {
  const again = received.filter(({ outcome }) => outcome !== "created");
  const planned = plan.flatMap(({ id, scenario }) => Array(scenario.deliveries - 1).fill(id));
  const found = again.map(({ mail, outcome }) => `${mail.id}: ${outcome}`);
  const wanted = planned.map((id) => `${id}: duplicate`);
  const ids = plan.map(({ id }) => id);
  return [
    check(
      "a second announcement creates nothing",
      sameTexts(found, wanted) ? [] : [`${found.join(", ") || "none"}; expected ${wanted}`],
      wanted.join("\n"),
    ),
    check(
      "each announced message is in the table of messages",
      sameTexts(mailIds, ids) ? [] : [`${mailIds.length} rows for ${ids.length} messages`],
    ),
  ];
}

/** Rows written by job.transaction: what was written under a lost claim must not be among them. */
export function checkRecords(
  rows: readonly StoredAttachment[],
  expectations: readonly StorageExpectation[],
): Check {
  const wanted = new Map(
    expectations.flatMap(({ messageId, attachments }) =>
      attachments.map((each) => [
        attachmentPath(messageId, each.index, each.filename),
        `${each.bytes} ${each.sha256}`,
      ]),
    ),
  );
  const all = wanted.size;
  const deviations = rows.flatMap(({ path, bytes, sha256 }) => {
    const right = wanted.get(path) === `${bytes} ${sha256}`;
    wanted.delete(path); // a second row of the same path finds nothing
    return right ? [] : [`a row too many, or a wrong one: ${path}`];
  });
  return check(
    "the table of attachments has one row for each, written together with the job's completion",
    [...deviations, ...[...wanted.keys()].map((path) => `no row: ${path}`)],
    `${all} rows by job.transaction; the table has no unique index that could have helped`,
  );
}

function completedBy(messageId: string, journal: Journal): string | undefined {
  return journal
    .all("ended")
    .find((entry) => entry.messageId === messageId && entry.outcome === "completed")?.worker;
}

/** Whether both hold the same texts, each as often, in whatever order. */
function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify([...a].sort()) === JSON.stringify([...b].sort());
}
