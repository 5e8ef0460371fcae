/**
 * Runs a command, `next dev` mostly, with everything outside that it needs: the mail provider, the
 * storage, and a way to have a fax sent. What is set in the environment already stays as it is.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { listen, reply } from "./http.ts";
import { nextNumber } from "./numbers.ts";
import { startOutside } from "./server.ts";
import { stories } from "./stories.ts";

const folder = join(import.meta.dirname, "../.outside");
const outside = await startOutside({
  webhookSecret: process.env.WEBHOOK_SECRET ?? "the secret of the stand-in",
  storageKey: process.env.SUPABASE_SERVICE_ROLE_KEY ?? "the key of the stand-in",
  folder: join(folder, "objects"),
});

const desk = await listen(async (request, response) => {
  const { story, webhook } = (await json(request)) as { story: string; webhook: string };
  const { ordinary, announce } = outside.mail;
  const { id } = ordinary[nextNumber(folder) % ordinary.length] as { id: string };
  const faults = stories.find(({ name }) => name === story)?.faults ?? [];
  outside.faults.plan(...faults.map((fault) => ({ ...fault, about: id })));
  const answer = await announce(id, webhook);
  if (!answer.ok) console.error(`The webhook answered ${answer.status} for ${id}`);
  reply(response, answer.ok ? 200 : 502, { id });
});

const env = {
  ...outside.env,
  OUTSIDE_URL: desk.url,
  ADMIN_PASSWORD: "fax",
  TIME_SCALE: "20",
  ...process.env,
};
console.log(
  `Times are divided by ${env.TIME_SCALE}; the password of /admin is "${env.ADMIN_PASSWORD}".`,
);

const [command = "", ...args] = process.argv.slice(2);
const child = spawn(command, args, { env, stdio: "inherit", shell: process.platform === "win32" });
// Whoever started this one signals the whole group: here there is nothing to do but to wait for the end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
child.once("exit", (code) => process.exit(code ?? 1));
