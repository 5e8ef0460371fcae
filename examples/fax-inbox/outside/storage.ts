import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer, json } from "node:stream/consumers";
import type { Faults } from "./faults.ts";
import { type Listening, listen, reply } from "./http.ts";
import { misbehave } from "./misbehave.ts";
import { Objects } from "./objects.ts";

export interface Storage extends Listening {
  readonly objects: Objects;
}

export interface StorageOptions {
  /** What a caller must bring as its bearer. */
  readonly key: string;
  /** Where the objects lie. */
  readonly folder: string;
  readonly faults: Faults;
  /** Default: any free one. */
  readonly port?: number | undefined;
}

/** What a request is about: the object `bucket/path`, or a bucket alone. */
interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly name: string;
  readonly objects: Objects;
}

/**
 * Stands in for Supabase Storage: the HTTP calls behind `upload`, `update`, `download` and `list` of
 * supabase-js, on one bucket, `faxes`, and the refusals in the shape of the real one.
 */
export async function startStorage(options: StorageOptions): Promise<Storage> {
  const { key, folder, faults, port } = options;
  const objects = new Objects(folder);
  const listening = await listen(async (request, response, path) => {
    const fault = faults.take("storage", path);
    if (fault !== undefined && fault.how !== "held") return misbehave(fault, response);
    if (request.headers.authorization !== `Bearer ${key}`) {
      return refuse(response, "403", "Unauthorized", "Invalid Compact JWS");
    }
    const [, isList, name = ""] = /^\/storage\/v1\/object(\/list)?\/(.+)$/.exec(path) ?? [];
    if (name.split("/", 1)[0] !== "faxes") {
      return refuse(response, "404", "Bucket not found", "Bucket not found");
    }
    const asked = { request, response, name, objects };
    if (isList) return list(asked);
    if (request.method === "GET") return send(asked);
    const answer = await receive(asked);
    if (fault !== undefined) await faults.whenReleased();
    answer();
  }, port);
  return { ...listening, objects };
}

/** POST stores a new object, with `x-upsert: true` over an old one as well; PUT stores over it. */
async function receive({ request, response, name, objects }: Asked): Promise<() => void> {
  const content = await buffer(request);
  if (!validName.test(name)) {
    return () => refuse(response, "400", "InvalidKey", `Invalid key: ${name}`);
  }
  const isNewOnly = request.method === "POST" && request.headers["x-upsert"] !== "true";
  if (isNewOnly && (await objects.get(name)) !== null) {
    return () => refuse(response, "409", "Duplicate", "The resource already exists");
  }
  const contentType = request.headers["content-type"] ?? "application/octet-stream";
  await objects.put(name, { contentType, content });
  return () => reply(response, 200, { Key: name, Id: "00000000-0000-4000-8000-000000000000" });
}

/** Letters beyond ASCII are none of them. */
const validName = /^[\w/!\-.*'() &$@=;:+,?]+$/;

async function send({ response, name, objects }: Asked): Promise<void> {
  const object = await objects.get(name);
  if (object === null) return refuse(response, "404", "not_found", "Object not found");
  response.writeHead(200, {
    "content-type": object.contentType,
    "content-length": object.content.length,
  });
  response.end(object.content);
}

async function list({ request, response, name, objects }: Asked): Promise<void> {
  const { prefix = "" } = (await json(request)) as { prefix?: string };
  const folder = `${name}/${prefix}`.replace(/\/*$/, "/");
  const names = await objects.names(folder);
  reply(
    response,
    200,
    names.map((each) => ({ name: each.slice(folder.length) })),
  );
}

/** As Supabase Storage does: HTTP 400, and what it means in the body. */
function refuse(response: ServerResponse, statusCode: string, error: string, message: string) {
  reply(response, 400, { statusCode, error, message });
}
