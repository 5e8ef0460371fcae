import { createServer, connect as openSocket, type Server, type Socket } from "node:net";

/** A way to a database that fails as networks do. One fault at a time; `restore` ends it. */
export interface TcpProxy {
  /** The connection string that leads through the proxy. */
  readonly url: string;
  readonly port: number;
  /** Resets every connection, and each new one, until `restore`. */
  cut(): void;
  /** Holds back every byte, both ways, of new connections too; `restore` lets them through. */
  stall(): void;
  /**
   * Makes the connections that are open half-open: no byte comes through any more, the server's side
   * is closed, and the client is not told. New connections work.
   */
  fallSilent(): void;
  /** Ends a cut or a stall. What fell silent stays so. */
  restore(): void;
  /** Where new connections go from now on, as a connection string. */
  aim(url: string): void;
  /** How many clients still hold their socket: a byte to one that let go of it is refused. */
  connections(): number;
  close(): Promise<void>;
}

type State = "open" | "cut" | "stalled";

/** One client's way through. */
interface Passage {
  near: Socket;
  far: Socket;
  silent: boolean;
}

/** Starts a proxy on a free port of 127.0.0.1, before the server of this connection string. */
export async function startTcpProxy(url: string): Promise<TcpProxy> {
  let target = new URL(url);
  let state: State = "open";
  const passages = new Set<Passage>();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (state === "cut") return void near.resetAndDestroy();
    const far = openSocket({ host: target.hostname, port: Number(target.port || 5432) });
    const passage = { near, far, silent: false };
    passages.add(passage);
    const flows = () => state !== "stalled" && !passage.silent;
    // Who leaves in a stall is heard of after it.
    near.on("close", () => state !== "stalled" && passages.delete(passage));
    join(near, far, flows, passage);
    join(far, near, flows, passage);
    if (state === "stalled") hold(passage);
  });
  const port = await listen(server);
  const each = (act: (passage: Passage) => void) => {
    for (const passage of [...passages]) if (!passage.silent) act(passage);
  };
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String(port);
  return {
    url: through.href,
    port,
    cut() {
      state = "cut";
      each(reset);
    },
    stall() {
      state = "stalled";
      each(hold);
    },
    fallSilent: () => each(silence),
    restore() {
      state = "open";
      each(flow);
      for (const passage of passages) if (passage.near.destroyed) passages.delete(passage);
    },
    aim(next) {
      target = new URL(next);
    },
    connections() {
      for (const { near } of passages) near.write(" ");
      return passages.size;
    },
    async close() {
      for (const { near, far } of passages) for (const socket of [near, far]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes on what comes from one side to the other, as long as it flows, and the end of it too. */
function join(from: Socket, to: Socket, flows: () => boolean, passage: Passage): void {
  from.on("data", (bytes) => {
    if (!passage.silent && !to.write(bytes)) from.pause();
  });
  to.on("drain", () => flows() && from.resume());
  from.on("end", () => flows() && to.end());
  // What one side lost, the other learns, unless the way between them is silent.
  from.on("error", () => undefined);
  from.on("close", () => flows() && to.destroy());
}

function hold({ near, far }: Passage): void {
  near.pause();
  far.pause();
}

function flow({ near, far }: Passage): void {
  if (near.destroyed) far.destroy();
  else if (far.destroyed) near.destroy();
  near.resume();
  far.resume();
}

function reset({ near, far }: Passage): void {
  near.resetAndDestroy();
  far.resetAndDestroy();
}

function silence(passage: Passage): void {
  passage.silent = true;
  passage.near.resume();
  passage.far.destroy();
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
  });
}
