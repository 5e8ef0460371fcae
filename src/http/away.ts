import { causeChain, read } from "../describe-error.ts";

/**
 * SQLSTATEs and codes of systems and drivers that say: not now. A connection that failed, a server
 * that starts, stops or has no room, a standby after a failover, a statement or lock that took too
 * long, a conflict under strict isolation; LH005, LH107 (closed) and LH108 (busy).
 */
const passing =
  /^(08...|53...|57014|57P0[1-5]|25006|55P03|40001|40P01|LH005|LH107|LH108|E(AI_AGAIN|CONNREFUSED|CONNRESET|CONNABORTED|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND)|CONNECT(ION)?_(TIMEOUT|CLOSED|ENDED|DESTROYED))$/;

/** What drivers throw without a code: node-postgres, PGlite, and a call of ours that took too long. */
const passingMessage =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|Query read timeout|PGlite is clos|the database did not answer)/;

/** Whether an error says that the database can't be asked now, rather than that something is wrong. */
export function isAway(error: unknown): boolean {
  return causeChain(error).some((link) => {
    const [code, message] = [read(link, "code"), read(link, "message")];
    if (typeof code === "string") return passing.test(code);
    return typeof message === "string" && passingMessage.test(message);
  });
}
