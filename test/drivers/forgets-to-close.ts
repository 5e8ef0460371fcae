/** A process that makes one call through an instance of leasehold's own, and then does nothing. */
import { postgres } from "../../src/postgres/index.ts";

await postgres(process.argv[2] ?? "").call("stats", {});
console.log("called");
