import { bodyOf } from "./body.ts";
import { fetchEmail } from "./jobs.ts";
import { leasehold } from "./leasehold.ts";
import { type Announcement, announcement, isKnown, storeMail } from "./mails.ts";
import { isSigned } from "./signature.ts";
import { inTransaction } from "./transaction.ts";

/** An announcement is a few hundred bytes. */
const maxBytes = 64 * 1_024;

/**
 * The webhook of the mail provider. It answers 200 only when the mail and its job are stored, both or
 * neither; a provider that hears anything else announces the mail again, and that is harmless.
 */
export async function receiveMail(request: Request): Promise<Response> {
  const secret = process.env.WEBHOOK_SECRET;
  // 503, so that the provider keeps the mail and comes back when somebody has set it.
  if (!secret) return refuse(503, "CLOSED", "WEBHOOK_SECRET is not set: nothing is accepted");
  const body = await bodyOf(request, maxBytes);
  if (body === null) return refuse(413, "TOO_LARGE", `more than ${maxBytes} bytes`);
  if (!isSigned(secret, request.headers, body)) {
    return refuse(401, "BAD_SIGNATURE", "the signature is not ours, or more than 5 minutes old");
  }
  const mail = announcement.safeParse(parse(body));
  if (!mail.success) return refuse(400, "BAD_MAIL", "no announcement of a mail");
  return Response.json({ outcome: await store(mail.data) });
}

/** The mail and the job that fetches it, in one transaction. */
async function store(mail: Announcement): Promise<"stored" | "known"> {
  return inTransaction(async (client) => {
    // For ever: `once` holds for 30 days, and the job itself is pruned some day.
    if (await isKnown(client, mail.id)) return "known";
    const payload = { emailId: mail.id };
    // Of two announcements at the same time the second waits here, and is answered `duplicate`.
    const answer = await leasehold.enqueue(fetchEmail, payload, { tx: client, once: mail.id });
    if (answer.outcome === "insufficient")
      throw new Error("a job that is free can't cost too much");
    const jobId = answer.outcome === "conflict" ? answer.holder.id : answer.id;
    if (jobId === null) throw new Error(`a job of another owner fetches ${mail.id}`);
    return (await storeMail(client, mail, jobId)) ? "stored" : "known";
  });
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function refuse(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message } }, { status });
}
