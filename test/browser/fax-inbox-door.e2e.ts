import { afterAll, beforeAll, expect, test } from "vitest";
import { sign } from "../../examples/fax-inbox/lib/signature.ts";
import { type FaxInbox, openFaxInbox } from "./support/fax-inbox.ts";
import type { NextServer } from "./support/next-server.ts";

let app: FaxInbox;
let server: NextServer;

beforeAll(async () => {
  app = await openFaxInbox();
  server = await app.serve();
});
afterAll(async () => {
  await server?.kill();
  await app?.stop();
});

const secret = "of the webhook";

const mail = {
  id: "mail-0001",
  from: "a fax",
  subject: "a subject",
  receivedAt: "2025-04-01T00:00:00Z",
};

interface Sent {
  readonly body?: string | Uint8Array;
  /** Seconds from now. */
  readonly at?: number;
  readonly secret?: string;
  readonly signature?: string | null;
  readonly timestamp?: string;
  readonly to?: NextServer;
}

/** Sends an announcement that is right, save what is given otherwise. Answers status and code. */
async function send(sent: Sent = {}): Promise<string> {
  const { body = JSON.stringify(mail), at = 0, secret: key = secret, to = server } = sent;
  const timestamp = sent.timestamp ?? String(Math.floor(Date.now() / 1_000) + at);
  const { signature = sign(key, timestamp, body) } = sent;
  const answer = await fetch(`${to.url}/api/mail`, {
    method: "POST",
    headers: {
      "x-webhook-timestamp": timestamp,
      ...(signature !== null && { "x-webhook-signature": signature }),
    },
    body,
  });
  const { outcome, error } = (await answer.json()) as {
    outcome?: string;
    error?: { code: string };
  };
  return `${answer.status} ${outcome ?? error?.code}`;
}

/** How many mails and jobs there are. */
async function written(): Promise<string> {
  const sql =
    "select (select count(*) from fax.mails) || ' ' || (select count(*) from leasehold.jobs) as n";
  return (await app.database.query(sql))[0]?.n;
}

test("a request that the provider has not signed, or not now, is refused and writes nothing", async () => {
  const refused = "401 BAD_SIGNATURE";
  expect(await send({ secret: "another" })).toBe(refused);
  expect(await send({ signature: null })).toBe(refused);
  expect(await send({ signature: "" })).toBe(refused);
  expect(await send({ signature: "é".repeat(32) })).toBe(refused);
  expect(await send({ at: -301 })).toBe(refused);
  expect(await send({ at: 302 })).toBe(refused);
  for (const timestamp of ["", "NaN", "1e9", "-1", "9".repeat(400)]) {
    expect(await send({ timestamp })).toBe(refused);
  }
  // Signed for another body, and for another time.
  const now = String(Math.floor(Date.now() / 1_000));
  expect(await send({ signature: sign(secret, now, "{}") })).toBe(refused);
  const body = JSON.stringify(mail);
  expect(await send({ signature: sign(secret, String(Number(now) - 60), body), at: 60 })).toBe(
    refused,
  );
  expect(await written()).toBe("0 0");
});

test("what is signed and yet no announcement is refused and writes nothing", async () => {
  const bad = "400 BAD_MAIL";
  for (const body of ["", "{", "null", "[]", "7", JSON.stringify({ ...mail, id: undefined })]) {
    expect(await send({ body })).toBe(bad);
  }
  for (const id of ["../../etc", "", "a".repeat(65), "a b", 7, "mail\u0000"]) {
    expect(await send({ body: JSON.stringify({ ...mail, id }) })).toBe(bad);
  }
  expect(await send({ body: JSON.stringify({ ...mail, receivedAt: "yesterday" }) })).toBe(bad);
  expect(await send({ body: Uint8Array.of(0xff, 0xfe, 0x00) })).toBe(bad);
  expect(await send({ body: "x".repeat(64 * 1_024) })).toBe(bad);
  expect(await send({ body: "x".repeat(64 * 1_024 + 1) })).toBe("413 TOO_LARGE");
  expect(await written()).toBe("0 0");
});

test("a body that does not say how long it is, and is too long, is not read to its end", async () => {
  const pieces = 500;
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1;
      controller.enqueue(new Uint8Array(16_384));
      if (sent === pieces) controller.close();
    },
  });
  const init = { method: "POST", body, duplex: "half" } as RequestInit;
  const answer = await fetch(`${server.url}/api/mail`, init).catch((error: Error) => error);
  // The answer, or a connection that was closed upon a sender who would not stop.
  if (answer instanceof Response) expect(answer.status).toBe(413);
  expect(sent).toBeLessThan(pieces);
  expect((await fetch(`${server.url}/api/inbox`)).status).toBe(200);
});

test("a right one at the edges of the tolerance is taken", async () => {
  expect(await send({ at: -290 })).toBe("200 stored");
  expect(await send({ at: 290 })).toBe("200 known");
  expect(await written()).toBe("1 1");
});

test("a mail is not lost for what its sender has written", async () => {
  const odd = { id: "mail-0010", subject: ` a\u0000b\n\ud800${"é".repeat(900)}`, from: "\u202ex" };
  expect(await send({ body: JSON.stringify({ ...mail, ...odd }) })).toBe("200 stored");
  const [row] = await app.database.query("select * from fax.mails where id = 'mail-0010'");
  expect(row).toMatchObject({ subject: `a b \ufffd${"é".repeat(495)}`, sender: "x" });
});

test("without secrets nothing is open", async () => {
  const closed = await app.serve({ WEBHOOK_SECRET: "", ADMIN_PASSWORD: "", CRON_SECRET: "" });
  try {
    const before = await written();
    expect(await send({ secret: "", to: closed })).toBe("503 CLOSED");
    expect(await written()).toBe(before);
    const admin = await (await fetch(`${closed.url}/admin`)).text();
    expect(admin).toContain("Closed, since ADMIN_PASSWORD is not set.");
    expect((await fetch(`${closed.url}/api/admin`)).status).toBe(401);
    const drain = { headers: { authorization: "Bearer " } };
    expect((await fetch(`${closed.url}/api/leasehold/drain`, drain)).status).toBe(403);
  } finally {
    await closed.kill();
  }
});

test("the cron's door asks for its secret, and no other door of leasehold opens", async () => {
  const ask = (path: string, init?: RequestInit) =>
    fetch(`${server.url}/api/leasehold${path}`, init).then(({ status }) => status);
  expect(await ask("/drain")).toBe(401);
  expect(await ask("/drain", { headers: { authorization: "Bearer wrong" } })).toBe(401);
  expect(await ask("/jobs/fetch_email", { method: "POST", body: "{}" })).toBeGreaterThanOrEqual(
    401,
  );
  expect(await ask("/metrics")).toBe(401);
  expect(await ask("/health")).toBe(200);
});
