import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { composeMessage, expectedAttachments, sha256 } from "../../examples/mail/messages.ts";
import { attachmentsOf } from "../../examples/mail/parse.ts";
import {
  minimumMessages,
  type PlannedMessage,
  planMessages,
} from "../../examples/mail/scenarios.ts";

const plan = planMessages(minimumMessages + 7);
const interrupted = plan.find(({ scenario }) => scenario.staged === "SIGKILL") as PlannedMessage;

describe("a composed message", () => {
  test.each(plan)("$id ($scenario.title) parses back to what was put in", async (message) => {
    const { raw, attachments } = await composeMessage(message);
    expect(await parsed(Readable.from([raw]))).toEqual(attachments);
  });

  test("is the same at every composition, or a second fetch would differ", async () => {
    for (const message of plan.slice(0, 2)) {
      const [first, second] = [await composeMessage(message), await composeMessage(message)];
      expect(first.raw.equals(second.raw)).toBe(true);
      expect(await expectedAttachments(message)).toEqual(first.attachments);
    }
  });

  test("covers what is hard about attachments", async () => {
    const attachments = (await Promise.all(plan.map(expectedAttachments))).flat();
    const types = new Set(attachments.map(({ contentType }) => contentType));
    expect(types).toEqual(
      new Set(["application/pdf", "image/tiff", "image/png", "message/rfc822"]),
    );
    expect(attachments.some(({ filename }) => filename === "受信ファックス.pdf")).toBe(true);
    expect(attachments.some(({ bytes }) => bytes > 5 * 1024 * 1024)).toBe(true);
    expect(new Set(attachments.map((attachment) => attachment.sha256)).size).toBe(
      attachments.length,
    );
  });
});

describe("the parser", () => {
  test("hands out the first attachment of an interrupted message before the rest arrives", async () => {
    const { raw } = await composeMessage(interrupted);
    const half = Math.floor(raw.length / 2);
    let sendRest = (): void => {};
    const restIsSent = new Promise<void>((resolve) => {
      sendRest = resolve;
    });
    async function* arriving(): AsyncGenerator<Buffer> {
      yield raw.subarray(0, half);
      await restIsSent;
      yield raw.subarray(half);
    }
    const names: string[] = [];
    for await (const { filename } of attachmentsOf(Readable.from(arriving()))) {
      names.push(filename);
      sendRest();
    }
    expect(names).toEqual(["cover.pdf", "page-1.tiff", "preview.png"]);
  });

  test("throws when the message is cut short, also in the middle of an attachment", async () => {
    const { raw } = await composeMessage(interrupted);
    async function* cut(): AsyncGenerator<Buffer> {
      yield raw.subarray(0, raw.length / 2);
      throw new Error("the connection broke");
    }
    await expect(parsed(Readable.from(cut()))).rejects.toThrow("the connection broke");
  });

  test("lets go of the stream when its reader stops", async () => {
    const { raw } = await composeMessage(interrupted);
    const source = Readable.from([raw]);
    for await (const _ of attachmentsOf(source)) break;
    expect(source.destroyed).toBe(true);
  });
});

async function parsed(mime: Readable): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { content, ...attachment } of attachmentsOf(mime)) {
    found.push({ ...attachment, bytes: content.length, sha256: sha256(content) });
  }
  return found;
}
