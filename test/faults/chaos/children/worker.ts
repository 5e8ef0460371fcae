/** A worker process: works until it is told to stop, and tells how it is when it is asked. */
import "./clock.ts";
import { childClient } from "./client.ts";
import { leash } from "./leash.ts";

const letGo = leash();
const client = childClient();
const concurrency = Number(process.env.CHAOS_CONCURRENCY ?? 4);
const worker = client.leasehold.work({ concurrency, poll: "1s", grace: "2s" });
process.on("message", () => process.send?.(worker.health()));
await worker.ended;
letGo();
await client.close();
