import { createClient } from "@supabase/supabase-js";
import { needed } from "./environment.ts";
import { answerWithin } from "./patience.ts";
import { timing } from "./timing.ts";

const bucket = "faxes";

/** What storage-js answers in place of throwing, as far as it matters here. */
interface Refusal {
  readonly message: string;
  readonly status?: number | undefined;
  readonly statusCode?: string | undefined;
  /** What `fetch` threw, where there was no answer. */
  readonly originalError?: unknown;
}

/**
 * What went wrong at the storage, as leasehold reads errors. A refused key (401, 403) gives the job
 * back; everything else is tried again, since it is no fault of the fax: a bucket that is missing or
 * full is mended by a person, and a re-run is worth an attempt.
 */
export class StorageFailure extends Error {
  override readonly name = "StorageFailure";
  readonly code: string | undefined;
  /** 401, 403, 429 or 5xx. Undefined for what is no answer, and for any other refusal. */
  readonly status: number | undefined;
  /** Those of the answer, for Retry-After. */
  readonly headers: Headers | undefined;

  constructor(refusal: Refusal, headers: Headers | undefined) {
    // Beneath an error that is no answer lies that of fetch, with its code: ECONNRESET, ETIMEDOUT.
    super(`the storage: ${refusal.message}`, { cause: refusal.originalError });
    const status = statusOf(refusal);
    this.code = status === undefined ? undefined : `STORAGE_${status}`;
    this.status = status === undefined || isAboutTheObject(status) ? undefined : status;
    this.headers = headers;
  }
}

/**
 * Supabase Storage answers most refusals with HTTP 400 and says in the body what it means, which
 * storage-js hands on as the text `statusCode`: "403" for a key without rights.
 */
function statusOf({ status, statusCode }: Refusal): number | undefined {
  return /^[45]\d\d$/.test(statusCode ?? "") ? Number(statusCode) : status;
}

function isAboutTheObject(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 403, 429].includes(status);
}

/** Stores one attachment; whatever lies under its path is replaced. Throws StorageFailure. */
export async function upload(
  path: string,
  content: Uint8Array,
  contentType: string,
  signal: AbortSignal,
): Promise<void> {
  await answerWithin(timing.answerMs, signal, (within) =>
    asked(within, (files) => files.upload(path, content, { upsert: true, contentType })),
  );
}

/** The content of an attachment, as it comes in. Throws StorageFailure. */
export function download(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  return asked<ReadableStream>(signal, (files) => files.download(path).asStream());
}

type Files = ReturnType<ReturnType<typeof createClient>["storage"]["from"]>;

/**
 * A client for one call. Making it opens nothing, and its own `fetch` is the one way in for a signal,
 * and the one way out for the headers of an answer.
 */
async function asked<T>(
  signal: AbortSignal,
  ask: (files: Files) => PromiseLike<{ data: T | null; error: Refusal | null }>,
): Promise<T> {
  let headers: Headers | undefined;
  const client = createClient(needed("SUPABASE_URL"), needed("SUPABASE_SERVICE_ROLE_KEY"), {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    // Node 20 has no WebSocket, and without one this throws, though nothing here opens one.
    realtime: { transport: class NoSocket {} as never },
    global: {
      fetch: async (input, init) => {
        const response = await fetch(input, { ...init, signal });
        headers = response.headers;
        return response;
      },
    },
  });
  const { data, error } = await ask(client.storage.from(bucket));
  if (data === null) throw new StorageFailure(error ?? { message: "an empty answer" }, headers);
  return data;
}
