import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { composeMessage, sha256 } from "../../examples/mail/messages.ts";
import { attachmentsOf } from "../../examples/mail/parse.ts";
import { answer, type Visit } from "../../examples/mail/provider/behaviour.ts";
import {
  fetchMessage,
  type ProviderControl,
  ProviderError,
  providerControl,
} from "../../examples/mail/provider/client.ts";
import { type Provider, startProvider } from "../../examples/mail/provider/server.ts";
import {
  minimumMessages,
  type PlannedMessage,
  type ProviderBehaviour,
  planMessages,
} from "../../examples/mail/scenarios.ts";
import { type Announcement, serveWebhook } from "../../examples/mail/webhook.ts";

const plan = planMessages(minimumMessages);
let provider: Provider;
let control: ProviderControl;

beforeEach(async () => {
  provider = await startProvider({ messages: plan.length, slowMs: 100 });
  control = providerControl(provider.url);
});
afterEach(() => provider.close());

describe("the provider", () => {
  test.each(["serves", "sends slowly"] as const)("%s a message whole", async (behaviour) => {
    const message = behaving(behaviour);
    const { attachments } = await composeMessage(message);
    expect(await hashes(message.id)).toEqual(attachments.map((attachment) => attachment.sha256));
  });

  test("is unavailable twice, then serves", async () => {
    const { id } = behaving("unavailable twice");
    await expect(fetched(id)).rejects.toMatchObject({ status: 503 });
    await expect(fetched(id)).rejects.toMatchObject({ status: 503 });
    expect(await hashes(id)).toHaveLength(3);
  });

  test("says how long to wait, and notices who does not", async () => {
    const { id } = behaving("throttles once");
    const refusal = await fetched(id).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ProviderError);
    expect((refusal as ProviderError).headers.get("retry-after")).toBe("2");
    await expect(fetched(id)).rejects.toMatchObject({ status: 429 });
    const notes = (await control.log()).map((entry) => entry.note);
    expect(notes[1]).toMatch(/^came back after \d+ ms: too early$/);
  });

  test("refuses the key until it has been refused once and then given its rights", async () => {
    const { id } = behaving("refuses until rights are granted");
    const granted = control.grantRights();
    await expect(fetched(id)).rejects.toMatchObject({ status: 401 });
    await granted;
    expect(await hashes(id)).toHaveLength(3);
  });

  test("knows nothing of a message that is gone, nor of one that never was", async () => {
    await expect(fetched(behaving("knows nothing").id)).rejects.toMatchObject({ status: 404 });
    await expect(fetched("mail-9999")).rejects.toMatchObject({ status: 404 });
  });

  test("holds a message in the middle, says who fetches it, and sends the rest when told", async () => {
    const { id } = behaving("holds the first answer");
    const holding = control.held(id);
    const names: string[] = [];
    for await (const { filename } of attachmentsOf(await fetched(id))) {
      names.push(filename);
      if (names.length === 1) {
        expect(await holding).toBe("worker-1");
        await control.letGo(id);
      }
    }
    expect(names).toEqual(["cover.pdf", "page-1.tiff", "preview.png"]);
  });

  test("serves a held message to the next who asks, when the first has gone away", async () => {
    const { id } = behaving("holds the first answer");
    const first = await fetched(id);
    await control.held(id);
    first.destroy();
    expect(await hashes(id)).toHaveLength(3);
    await expect.poll(async () => (await control.log())[0]?.note).toMatch(/the client went away$/);
  });

  test("holds a message for the second who asks as well, where the script says so", async () => {
    const { id } = behaving("holds the first two answers");
    const first = await fetched(id);
    await control.held(id);
    first.destroy();
    const names: string[] = [];
    for await (const { filename } of attachmentsOf(await fetched(id))) {
      names.push(filename);
      if (names.length === 1) await control.letGo(id);
    }
    expect(names).toHaveLength(3);
    expect((await control.log()).map(({ note }) => note)).toEqual([
      expect.stringMatching(/^held back/),
      expect.stringMatching(/^held back/),
    ]);
  });

  test("announces every message to the webhook, one of them twice", async () => {
    const announced: Announcement[] = [];
    const webhook = await serveWebhook(async (mail) => void announced.push(mail));
    const accepted = await control.deliver(webhook.url);
    await webhook.close();
    expect(accepted).toBe(plan.length + 1);
    const ids = announced.map(({ id }) => id);
    const twice = plan.find(({ scenario }) => scenario.deliveries === 2)?.id;
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([twice]);
    expect(new Set(ids)).toEqual(new Set(plan.map(({ id }) => id)));
  });

  test.each(["/", "/messages/%E0%A4%A", "/nothing/here"])("survives %s", async (path) => {
    expect((await fetch(`${provider.url}${path}`)).ok).toBe(false);
    expect(await control.log()).toEqual([]);
  });
});

test("a webhook refuses what is no announcement and reports what could not be stored", async () => {
  const webhook = await serveWebhook(() => Promise.reject(new Error("the database is away")));
  const post = async (body: string): Promise<number> =>
    (await fetch(webhook.url, { method: "POST", body })).status;
  const mail = { id: "mail-1", from: "a", subject: "b", receivedAt: "2025-04-01T00:00:00Z" };
  expect(await post("no JSON")).toBe(400);
  expect(await post(JSON.stringify({ ...mail, id: "../mail" }))).toBe(400);
  expect(await post(JSON.stringify(mail))).toBe(500);
  await webhook.close();
});

test("a wait that was long enough is served and noted", () => {
  const visit: Visit = { request: 2, sinceLastMs: 2000, rightsGranted: false };
  expect(answer("throttles once", visit)).toMatchObject({
    status: 200,
    note: "sent: came back after 2000 ms",
  });
});

function behaving(behaviour: ProviderBehaviour): PlannedMessage {
  return plan.find(({ scenario }) => scenario.provider === behaviour) as PlannedMessage;
}

const fetched = (id: string): ReturnType<typeof fetchMessage> =>
  fetchMessage(provider.url, id, { worker: "worker-1" });

async function hashes(id: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { content } of attachmentsOf(await fetched(id))) found.push(sha256(content));
  return found;
}
