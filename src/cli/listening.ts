import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exitCodes } from "./exit-codes.ts";
import { CliError } from "./failure.ts";

/**
 * Has the server listen; answers the port. Rejects with a CliError where it can't, which names the
 * option that the port comes from.
 */
export function listen(
  server: Server,
  { port, host }: { port: number; host: string | undefined },
  option: string,
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const hint = `Give another ${option}; 0 takes any that is free.`;
      reject(new CliError(exitCodes.failed, `Port ${port}: ${cause.message}.`, hint, { cause }));
    });
    server.listen({ port, host }, () => resolve((server.address() as AddressInfo).port));
  });
}

/** Also the connections that a client keeps open. */
export function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}
