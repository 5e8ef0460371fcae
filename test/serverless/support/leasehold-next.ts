/** `leasehold/next` as the functions import it; see leasehold.ts. */
import { createLeasehold as createPlain } from "../../../src/next/index.ts";
import { watched } from "./watched.ts";

export * from "../../../src/next/index.ts";

export const createLeasehold: typeof createPlain = (options) => watched(createPlain(options));
