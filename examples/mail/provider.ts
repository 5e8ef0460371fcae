/**
 * The mail provider as a process of its own. The demo starts it; alone it is
 * `provider.ts --messages 20 --slow-ms 5000 --port 8025`, to be looked at with curl.
 */
import { parseArgs } from "node:util";
import { startProvider } from "./provider/server.ts";
import { minimumMessages } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: String(minimumMessages) },
    "slow-ms": { type: "string", default: "5000" },
    port: { type: "string", default: "0" },
  },
});

const provider = await startProvider({
  messages: Number(values.messages),
  slowMs: Number(values["slow-ms"]),
  port: Number(values.port),
});

let stopping = false;
const stop = async (): Promise<void> => {
  if (stopping) return;
  stopping = true;
  await provider.close();
  if (process.connected) process.disconnect();
};
process.once("SIGTERM", stop);
// Ctrl-C reaches every process of the terminal; the demo decides what becomes of its provider.
process.on("SIGINT", process.send ? () => {} : stop);
// The demo has ended, however it ended: no provider is left behind.
process.once("disconnect", stop);

if (process.send) process.send({ url: provider.url });
else console.log(`Mail provider on ${provider.url}`);
