import { createHash } from "node:crypto";
import MailComposer from "nodemailer/lib/mail-composer";
import { coverPdf, type Part, partsOf } from "./contents.ts";
import type { PlannedMessage } from "./scenarios.ts";

/** What the webhook tells about a message: enough to list it, not its attachments. */
export interface MailHeader {
  readonly id: string;
  readonly from: string;
  readonly subject: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
}

/** What must lie in the storage in the end. Taken from what was put in, never from parsing. */
export interface ExpectedAttachment {
  readonly index: number;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface ComposedMessage {
  readonly header: MailHeader;
  /** The message as it travels: RFC 5322 with MIME. */
  readonly raw: Buffer;
  readonly attachments: readonly ExpectedAttachment[];
}

/** Composes a planned message. The same plan gives the same bytes, in whichever process. */
export async function composeMessage(message: PlannedMessage): Promise<ComposedMessage> {
  const header = mailHeader(message);
  const parts = await attachedParts(message);
  const raw = await compose(header, "A fax has arrived. See the attachments.", parts);
  return { header, raw, attachments: parts.map(expectedAttachment) };
}

/** The attachments that a planned message has, without composing the message around them. */
export async function expectedAttachments(message: PlannedMessage): Promise<ExpectedAttachment[]> {
  return (await attachedParts(message)).map(expectedAttachment);
}

export function mailHeader({ id, index }: PlannedMessage): MailHeader {
  return {
    id,
    from: `"Fax ${1000 + index}" <fax-${1000 + index}@provider.example>`,
    subject: `ファックス受信 ${id}`,
    // A fixed day, a minute apart: a message must not change between two fetches.
    receivedAt: new Date(Date.UTC(2025, 3, 1) + index * 60_000).toISOString(),
  };
}

async function attachedParts(message: PlannedMessage): Promise<Part[]> {
  const parts = partsOf(message);
  return message.scenario.content === "nested message"
    ? [...parts, await nestedMessage(message)]
    : parts;
}

/** A forwarded message, which is an attachment whole and unparsed: the receipt is its exact bytes. */
async function nestedMessage(message: PlannedMessage): Promise<Part> {
  const header = { ...mailHeader(message), id: `${message.id}-inner`, subject: "元のメッセージ" };
  const inside = [coverPdf(`${message.id}/inner`, "inner.pdf")];
  const content = await compose(header, "This is the message that was forwarded.", inside);
  return { filename: "forwarded.eml", contentType: "message/rfc822", content };
}

/** Every part of the message that nodemailer would draw by lot is fixed: date, id and boundary. */
function compose(header: MailHeader, text: string, parts: readonly Part[]): Promise<Buffer> {
  const composer = new MailComposer({
    from: header.from,
    to: "inbox@clinic.example",
    subject: header.subject,
    date: new Date(header.receivedAt),
    messageId: `<${header.id}@provider.example>`,
    baseBoundary: header.id,
    text,
    attachments: parts.map((part) => ({ ...part, contentDisposition: "attachment" })),
  });
  return composer.compile().build();
}

function expectedAttachment(part: Part, index: number): ExpectedAttachment {
  const { filename, contentType, content } = part;
  return { index, filename, contentType, bytes: content.length, sha256: sha256(content) };
}

export function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
