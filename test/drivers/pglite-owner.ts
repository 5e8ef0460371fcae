/** A process that owns an embedded database until it is killed. */
import { pglite } from "../../src/pglite/index.ts";

const database = pglite(process.argv[2] ?? "");
await database.call("enqueue", { p_kind: "k", p_options: { key: "one" } });
process.send?.("ready");
setInterval(() => undefined, 60_000);
