import {
  type ExpectedAttachment,
  expectedAttachments,
  sha256,
} from "../../../examples/mail/messages.ts";
import { planMessages } from "../../../examples/mail/scenarios.ts";
import type { FaxInbox } from "./fax-inbox.ts";
import type { NextServer } from "./next-server.ts";

/** What was put into the mail, never what came out of it. */
export function attachmentsOf(id: string): Promise<readonly ExpectedAttachment[]> {
  const message = planMessages(2_000).find((each) => each.id === id);
  if (message === undefined) throw new Error(`There is no message ${id}`);
  return expectedAttachments(message);
}

/** What the storage holds of the mail: `sha256` by path. */
export async function storedOf(app: FaxInbox, id: string): Promise<Map<string, string>> {
  const { objects } = app.outside.storage;
  const names = await objects.names(`faxes/${id}/`);
  const stored = names.map(async (name) => {
    const object = await objects.get(name);
    return [name, sha256(object?.content ?? Buffer.of())] as const;
  });
  return new Map(await Promise.all(stored));
}

/** The rows of the mail's attachments, in their order. */
export function rowsOf(app: FaxInbox, id: string) {
  return app.database.query(
    `select position as index, filename, content_type as "contentType", bytes, sha256
     from fax.attachments where mail_id = $1 order by position`,
    [id],
  );
}

/** Throws unless each attachment of the mail is there once: as a row, and as an object with its bytes. */
export async function isThereOnce(app: FaxInbox, id: string): Promise<void> {
  const wanted = (await attachmentsOf(id)).map(({ sha256 }) => sha256);
  const rows = (await rowsOf(app, id)).map(({ sha256 }) => sha256);
  const stored = [...(await storedOf(app, id)).values()];
  const found = JSON.stringify({ rows, stored });
  if (found !== JSON.stringify({ rows: wanted, stored: wanted })) {
    throw new Error(`${id} should have ${wanted.join()} once each, but there is ${found}`);
  }
}

/** What a download through the application gives. */
export async function downloaded(server: NextServer, id: string, position: number) {
  const answer = await fetch(`${server.url}/attachments/${id}/${position}`);
  return { answer, sha256: sha256(Buffer.from(await answer.arrayBuffer())) };
}
