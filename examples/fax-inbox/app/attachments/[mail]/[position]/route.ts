import { attachmentOf } from "../../../../lib/mails.ts";
import { download } from "../../../../lib/storage.ts";

interface Context {
  readonly params: Promise<{ readonly mail: string; readonly position: string }>;
}

/** One attachment, out of the storage and under the name that its sender gave it. */
export async function GET(request: Request, { params }: Context): Promise<Response> {
  const { mail, position } = await params;
  const attachment = /^\d{1,4}$/.test(position) ? await attachmentOf(mail, Number(position)) : null;
  if (attachment === null) return new Response("There is no such attachment.\n", { status: 404 });
  try {
    const content = await download(attachment.path, request.signal);
    return new Response(content, {
      headers: {
        "content-type": attachment.contentType,
        "content-length": `${attachment.bytes}`,
        "content-disposition": `attachment; filename*=UTF-8''${encoded(attachment.filename)}`,
        // Whoever sends a fax chooses its type and its content: neither may act in our name.
        "content-security-policy": "sandbox; default-src 'none'",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
      },
    });
  } catch (error) {
    console.warn(`the storage does not give ${attachment.path}:`, error);
    return new Response("The storage does not answer. Try again later.\n", { status: 502 });
  }
}

/** As RFC 8187 wants it: encodeURIComponent leaves four characters that it reserves. */
function encoded(filename: string): string {
  return encodeURIComponent(filename).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
