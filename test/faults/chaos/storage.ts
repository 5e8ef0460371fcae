import { createServer, type Server } from "node:http";

/** How the storage answers: as it should, with an error, or not at all. */
export type StorageMood = "well" | "500" | "503" | "silent";

export interface Storage {
  readonly url: string;
  /** What lies under each path. */
  readonly objects: ReadonlyMap<string, string>;
  mood: StorageMood;
  close(): Promise<void>;
}

/** An object storage: PUT writes a path, and writes it again as often as it is asked to. */
export async function startStorage(): Promise<Storage> {
  const objects = new Map<string, string>();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (storage.mood === "silent") return; // the caller's own timeout ends it
    if (storage.mood !== "well") return void response.writeHead(Number(storage.mood)).end();
    objects.set(request.url ?? "", body);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const storage: Storage = {
    url: `http://127.0.0.1:${port}`,
    objects,
    mood: "well",
    close: () => closed(server),
  };
  return storage;
}

async function closed(server: Server): Promise<void> {
  const closing = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closing;
}
