import { createServer, connect as openSocket, type Socket } from "node:net";

/** A way to the server that can fall silent: bytes no longer come through, and nobody hangs up. */
export async function silentProxy(url: string) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = openSocket({ host: target.hostname, port: Number(target.port) });
    sockets.add(near);
    near.on("close", () => sockets.delete(near));
    for (const socket of [near, far]) socket.on("error", () => undefined);
    near.pipe(far).pipe(near);
    fallSilent.push(() => {
      near.unpipe().resume();
      far.unpipe().destroy();
    });
  });
  const fallSilent: (() => void)[] = [];
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const through = new URL(url);
  through.port = String((server.address() as { port: number }).port);
  return {
    url: through.href,
    fallSilent: () => fallSilent.forEach((silence) => void silence()),
    /** How many clients still hold their socket: a byte to one that let go of it is refused. */
    connections: () => {
      for (const socket of sockets) socket.write(" ");
      return sockets.size;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
