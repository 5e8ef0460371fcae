/** What an error code means to somebody who waits for a fax; a part of a sentence. */
export function reasonOf(code: string): string {
  const known = exactly[code];
  if (known !== undefined) return known;
  const [, who, status] = /^(HTTP|STORAGE)_(\d+)$/.exec(code) ?? [];
  if (who === undefined) return "something went wrong";
  const whose = who === "HTTP" ? "the mail provider" : "the storage";
  if (status === "401" || status === "403") return `${whose} refused our key`;
  if (status === "429") return `${whose} asked us to wait`;
  if (status === "404" || status === "410") return `${whose} does not have it`;
  return `${whose} was out of order`;
}

const noAnswer = "there was no answer in time";
const cutOff = "the function that fetched it was cut off";
const broken = "the connection broke";

const exactly: Readonly<Record<string, string>> = {
  ETIMEDOUT: noAnswer,
  UND_ERR_HEADERS_TIMEOUT: noAnswer,
  UND_ERR_BODY_TIMEOUT: noAnswer,
  ECONNRESET: broken,
  ECONNREFUSED: "there was no connection",
  UND_ERR_SOCKET: broken,
  BUDGET_EXCEEDED: "it took longer than one run may take",
  LEASE_EXPIRED: cutOff,
  TIMEOUT: cutOff,
  SHUTDOWN: "the server was stopped",
};
