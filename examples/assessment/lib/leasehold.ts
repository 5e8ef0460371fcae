import { handle, type Leasehold } from "leasehold";
import { createLeasehold } from "leasehold/next";
import { pg } from "leasehold/pg";
import { assessArea } from "./assess-area";
import { pool } from "./database";
import { assess } from "./jobs";

export const leasehold: Leasehold = createLeasehold({
  database: pg(pool),
  handlers: [handle(assess, (job) => assessArea(job, leasehold))],
});
