import type { Socket } from "node:net";

/** How postgres.js takes a socket of the caller's making: its parsed options. */
interface ConnectOptions {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/**
 * Makes the sockets of a listening connection in place of postgres.js, which never destroys one:
 * where the other side is gone without a word, its goodbye is never answered, and the open socket
 * would keep the process alive for many minutes. An application's own `socket` stays.
 */
export async function socketKeeper(
  given: { socket?: unknown } | undefined,
): Promise<{ options: object; destroy(): void }> {
  if (given?.socket) return { options: {}, destroy: () => undefined };
  const { connect } = await import("node:net");
  let socket: Socket | undefined;
  let tries = 0;
  return {
    options: {
      socket: ({ host, port, path }: ConnectOptions): Socket => {
        const turn = tries++ % port.length; // of several hosts, the next one at each try
        socket = path ? connect(path) : connect(Number(port[turn]), host[turn]);
        // What postgres.js notes there itself, for the server's name in TLS and for errors.
        return Object.assign(socket, { host: host[turn], port: port[turn] });
      },
    },
    destroy: () => void socket?.destroy(),
  };
}
