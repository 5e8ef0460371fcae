import type { Socket } from "node:net";

/** How postgres.js takes a socket of the caller's making: its parsed options. */
interface ConnectOptions {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/** The sockets of one instance: what makes them, and what destroys those that are open. */
export interface SocketKeeper {
  readonly options: object;
  destroy(): void;
}

const none: SocketKeeper = { options: {}, destroy: () => undefined };

/**
 * Makes the sockets of an instance in place of postgres.js, which never destroys one: where the
 * other side is gone without a word, its goodbye is never answered, and the open socket would keep
 * the process alive for many minutes. An application's own `socket` stays, and so do the sockets of
 * a platform that brings other ones than Node's.
 *
 * Answers what makes a keeper, one for each instance.
 */
export async function socketKeepers(given: object | undefined): Promise<() => SocketKeeper> {
  if ((given as { socket?: unknown } | undefined)?.socket || isCloudflare()) return () => none;
  const { connect } = await import("node:net");
  return () => {
    const sockets = new Set<Socket>();
    let tries = 0;
    return {
      options: {
        socket: ({ host, port, path }: ConnectOptions): Socket => {
          for (const gone of sockets) if (gone.destroyed) sockets.delete(gone);
          const turn = tries++ % port.length; // of several hosts, the next one at each try
          const socket = path ? connect(path) : connect(Number(port[turn]), host[turn]);
          sockets.add(socket);
          // What postgres.js notes there itself, for the server's name in TLS and for errors.
          return Object.assign(socket, { host: host[turn], port: port[turn] });
        },
      },
      destroy: () => {
        for (const socket of sockets) socket.destroy();
      },
    };
  };
}

function isCloudflare(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  return navigator?.userAgent === "Cloudflare-Workers";
}
