import { createLeasehold } from "leasehold/next";
import { pglite } from "leasehold/pglite";
import { handlers } from "./handlers";

const folder = process.env.PGLITE_FOLDER;

export const leasehold = createLeasehold({
  handlers,
  ...(folder && { database: pglite(folder) }),
});
