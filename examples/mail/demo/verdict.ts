import {
  type Check,
  checkJobs,
  checkProvider,
  checkStorage,
  storageExpectations,
} from "../expectations.ts";
import { recordedAttachments, storedMailIds } from "../mailbox.ts";
import type { ReportRow } from "../report.ts";
import { verifyStorage } from "../storage.ts";
import {
  checkInbox,
  checkKilled,
  checkRecords,
  checkSlow,
  checkStale,
  checkSteps,
} from "./checks.ts";
import { listJobs } from "./queue.ts";
import { reportRows } from "./rows.ts";
import type { Scene } from "./scene.ts";
import type { Victim } from "./stagings.ts";

/** Who was interrupted, by which signal. */
export interface Victims {
  readonly killed: Victim;
  readonly stopped: Victim;
}

/** Compares what is there in the end with the plan. Call it when all workers have ended. */
export async function judge(
  scene: Scene,
  { killed, stopped }: Victims,
): Promise<{ rows: ReportRow[]; checks: Check[] }> {
  const { plan, database, journal, crew, timing, storage } = scene;
  const jobs = await listJobs(database.leasehold);
  const log = await scene.control.log();
  const expected = await storageExpectations(plan);
  const mailIds = await database.read((client) => storedMailIds(client, database.mailSchema));
  const onServer = database.forWorkers.at === "server";
  const late = onServer ? ["complete", "row under guard"] : ["complete"];
  const checks = [
    ...checkJobs(plan, jobs),
    ...checkInbox(plan, scene.received, mailIds),
    ...checkProvider(plan, jobs, log),
    checkSlow(plan, journal, timing.leaseMs),
    ...checkKilled(killed, crew.exits, journal),
    ...checkStale(stopped, journal, late),
    checkSteps([stopped, killed], journal),
    checkStorage(await verifyStorage(storage, expected)),
  ];
  if (onServer) {
    const rows = await database.read((client) => recordedAttachments(client, database.mailSchema));
    checks.push(checkRecords(rows, expected));
  }
  return { rows: reportRows(plan, jobs, journal), checks };
}
