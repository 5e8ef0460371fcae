import { createServer } from "node:net";
import pgDriver from "pg";
import { expect, test } from "vitest";
import { pg } from "../../src/pg/index.ts";

/** One message of PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A server that ends each connection in the breath that makes it ready (pg_terminate_backend, a restart). */
const ready = Buffer.concat([
  message("R", Buffer.from([0, 0, 0, 0])),
  message("Z", Buffer.from("I")),
  message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0")),
]);

test("a connection that is ended as it becomes ready fails the transaction, not the process", async () => {
  const server = createServer((socket) => {
    socket.once("data", () => socket.end(ready));
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const pool = new pgDriver.Pool({ host: "127.0.0.1", port, user: "x", database: "x" });
  const uncaught: unknown[] = [];
  const hear = (error: unknown) => uncaught.push(error);
  process.on("uncaughtException", hear);
  try {
    await expect(pg(pool).transaction(async () => 1)).rejects.toThrow();
    expect(uncaught).toEqual([]);
  } finally {
    process.off("uncaughtException", hear);
    await pool.end();
    server.close();
  }
});
