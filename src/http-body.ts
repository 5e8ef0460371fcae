import { Failure } from "./http-answer.ts";

/**
 * The body as JSON; undefined where it is empty. Only `application/json` (or `…+json`) is read: a page
 * of another site can't send that without a preflight, which is answered with no leave. Never more
 * than `maxBytes` are kept, whatever Content-Length says. Throws 400, 413, 415.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get("content-type");
  const encoding = request.headers.get("content-encoding") ?? "identity";
  if ((type !== null && !isJson(type)) || encoding !== "identity") throw notJson();
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLarge(maxBytes);
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0) return undefined;
  if (type === null) throw notJson();
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Failure(400, "BAD_JSON", "The body is not valid JSON in UTF-8.");
  }
}

function isJson(type: string): boolean {
  const [essence = ""] = type.split(";");
  return /^application\/([\w.-]+\+)?json$/i.test(essence.trim());
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed) throw new TypeError("the body was read before: give it on unread");
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (reader !== undefined) {
    const { done, value } = await reader.read().catch(() => {
      throw new Failure(400, "BAD_BODY", "The body ended too early.");
    });
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      void reader.cancel().catch(() => undefined);
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  return joined(chunks, length);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function notJson(): Failure {
  return new Failure(
    415,
    "UNSUPPORTED_MEDIA_TYPE",
    "Send the payload as JSON, with the header content-type: application/json.",
  );
}

function tooLarge(maxBytes: number): Failure {
  const message = `The body is larger than ${maxBytes} bytes.`;
  return new Failure(413, "PAYLOAD_TOO_LARGE", message);
}
