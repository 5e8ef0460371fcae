import { causeChain, read } from "./describe-error.ts";

/** Codes that say: not now. */
const codes = [
  // PostgreSQL: a connection that failed, no room, a statement or lock that took too long, a server
  // that starts or stops, a standby after a failover, a conflict under strict isolation.
  "08...|53...|57014|55P03|57P0[1-5]|25006|40001|40P01",
  // Our own: contended, closed, busy.
  "LH005|LH107|LH108",
  // Systems, postgres.js, fetch.
  "E(AI_AGAIN|CONNREFUSED|CONNRESET|CONNABORTED|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND)",
  "CONNECT(ION)?_(TIMEOUT|CLOSED|ENDED|DESTROYED)",
  "UND_ERR_((CONNECT|HEADERS|BODY)_TIMEOUT|SOCKET|CLOSED|DESTROYED)|FETCH_FAILED",
  // PostgREST without a connection, and a gateway that answers in its place.
  "PGRST00[0-3]|HTTP_(408|429|5..)",
];

const passing = new RegExp(`^(${codes.join("|")})$`);

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

/** Which failures are worth a line in a log: of a database that is away the first one until it answers. */
export class FailureNews {
  #away = false;

  /** Passes on what the database answers, and so knows that it does. */
  async from<T>(asking: Promise<T>): Promise<T> {
    const answered = await asking;
    this.#away = false;
    return answered;
  }

  isNews(error: unknown): boolean {
    const away = isAway(error);
    const known = away && this.#away;
    this.#away ||= away;
    return !known;
  }
}
