import { createHash } from "node:crypto";
import type { Job } from "leasehold";
import { attachmentPath } from "./attachment-path.ts";
import { type Attachment, storeAttachments } from "./mails.ts";
import { attachmentsOf, type ParsedAttachment } from "./parse.ts";
import { openMessage } from "./provider.ts";
import { upload } from "./storage.ts";

/** The work of one job: the message is fetched, its attachments are stored. */
export async function fetchAttachments(
  job: Job<{ emailId: string }>,
): Promise<{ attachments: number }> {
  const { emailId } = job.payload;
  const stored: Attachment[] = [];
  for await (const attachment of attachmentsOf(await openMessage(emailId, job.signal))) {
    // A durable step: an attempt that follows an interruption goes on behind what is stored. Its save
    // extends the lease, and throws where another claim has the job by now.
    const step = await job.step(`attachment ${attachment.position}`, () =>
      store(emailId, attachment, job.signal),
    );
    stored.push(step);
  }
  // The rows and the job's completion commit together, or neither does.
  return job.transaction(async (client) => {
    await storeAttachments(client, emailId, stored);
    return { attachments: stored.length };
  });
}

/** A death behind the upload, before the step is saved, stores it twice, which leaves one object. */
async function store(
  emailId: string,
  { position, filename, contentType, content }: ParsedAttachment,
  signal: AbortSignal,
): Promise<Attachment> {
  const path = attachmentPath(emailId, position, filename);
  await upload(path, content, contentType, signal);
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { position, filename, contentType, path, bytes: content.length, sha256 };
}
