import { defineJob, type Handled, handle, type Job, type JobDefinition } from "leasehold";
import { z } from "zod";
import { recordAttachments, type StoredAttachment } from "./mailbox.ts";
import { sha256 } from "./messages.ts";
import { attachmentsOf } from "./parse.ts";
import { fetchMessage } from "./provider/client.ts";
import { attachmentPath, storeAttachment } from "./storage.ts";
import type { Timing } from "./timing.ts";

const payload = z.object({ messageId: z.string() });

type Payload = z.infer<typeof payload>;

export type FetchEmail = JobDefinition<typeof payload>;

/**
 * The kind of job: one message is fetched, its attachments are stored. The webhook enqueues by this
 * definition and the workers run by it. An application would write it as a constant; here its times
 * are an option of the demo.
 */
export function defineFetchEmail({ leaseMs, backoffMs }: Timing): FetchEmail {
  return defineJob("fetch_email", {
    payload,
    // At most one unfinished job for a message, whoever enqueues it.
    key: ({ messageId }) => messageId,
    maxAttempts: 5,
    lease: leaseMs,
    backoff: backoffMs,
  });
}

/** Where a worker works. */
export interface Workplace {
  /** The worker's name, for the provider's log. */
  readonly worker: string;
  /** The provider's address. */
  readonly provider: string;
  /** The folder that the attachments go to. */
  readonly storage: string;
  /** The schema of the example's own tables; undefined where no transaction can be held open. */
  readonly mailSchema: string | undefined;
  readonly timing: Timing;
  /** Told of each attachment when it is stored, or where an earlier attempt has stored it. */
  readonly onAttachment: (how: "stored" | "kept", index: number, job: Job<Payload>) => void;
}

/** The definition with the handler that does the work. */
export function handleFetchEmail(definition: FetchEmail, workplace: Workplace): Handled {
  return handle(definition, (job) => fetchEmail(job, workplace), {
    // The library's own judgement of 503, 429 and 404 is the right one, and so is that of 401: give
    // the job back, the attempt not counted. Only its rest of 15 minutes is too long for a demo.
    classify: (_thrown, verdict) =>
      verdict.action === "release"
        ? { ...verdict, retryAfterMs: workplace.timing.refusedKeyMs }
        : undefined,
  });
}

async function fetchEmail(job: Job<Payload>, workplace: Workplace): Promise<unknown> {
  const { messageId } = job.payload;
  const { worker, provider, storage, mailSchema, onAttachment } = workplace;
  // A refusal throws an error with the HTTP status; by that leasehold tells what becomes of the job.
  const mime = await fetchMessage(provider, messageId, { worker, signal: job.signal });
  const stored: StoredAttachment[] = [];
  for await (const { index, filename, content } of attachmentsOf(mime)) {
    let how: "stored" | "kept" = "kept";
    // A durable step: an attempt that follows an interruption goes on behind what is stored. It
    // renews the lease too, and throws where another worker has the job by now.
    const attachment = await job.step(`attachment ${index}`, async () => {
      how = "stored";
      // The path is fixed before anything is written: a death right here, before the step is saved,
      // means that the file is stored twice, and still leaves one.
      const path = attachmentPath(messageId, index, filename);
      await storeAttachment(storage, path, content);
      return { path, bytes: content.length, sha256: sha256(content) };
    });
    stored.push(attachment);
    onAttachment(how, index, job);
  }
  if (mailSchema === undefined) return { attachments: stored.length };
  // The rows and the job's completion commit together, or neither does.
  return job.transaction(async (client) => {
    await recordAttachments(client, mailSchema, messageId, stored);
    return { attachments: stored.length };
  });
}
