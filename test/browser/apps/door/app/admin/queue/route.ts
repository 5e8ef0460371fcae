import { dashboard } from "leasehold/dashboard";
import { leasehold } from "../../../lib/leasehold";

const page = dashboard({
  leasehold,
  authorize: (request) => (request.headers.get("cookie")?.includes("admin=1") ? "admin" : null),
});

export { page as GET, page as POST };
