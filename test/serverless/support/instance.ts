/**
 * The process of one instance. Argument: the folder `app` whose routes it serves. See README.md.
 */
import { existsSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import { createJiti } from "jiti";
import { tell } from "./reports.ts";
import { type RouteModule, routesBelow } from "./routes.ts";

const [app = ""] = process.argv.slice(2);

// One cache of modules for the functions and for what stands in for their packages.
const jiti = createJiti(import.meta.url, { alias: aliases() });
const { invoke } = await jiti.import<typeof import("./after.ts")>("./after.ts");
// As Next does, before the first request.
const instrumentation = join(app, "../instrumentation.ts");
if (existsSync(instrumentation)) {
  await (await jiti.import<{ register(): Promise<void> }>(instrumentation)).register();
}
const answer = await routesBelow(app, (file) => jiti.import<RouteModule>(file));

const underWay = new Set<Promise<void>>();
const server = serve(
  {
    hostname: "127.0.0.1",
    port: 0,
    fetch(request, { outgoing }) {
      const invocation = request.headers.get("x-invocation") ?? "";
      void tell({ type: "begins", invocation });
      const sent = new Promise((resolve) => (outgoing as ServerResponse).once("close", resolve));
      const { response, over } = invoke(() => answer(request), sent);
      underWay.add(over);
      void over.then(() => {
        underWay.delete(over);
        return tell({ type: "over", invocation });
      });
      return response;
    },
  },
  ({ port }) => void tell({ type: "serves", port }),
);

// As Next's server does: nothing new, and the end once nothing is under way.
process.on("SIGTERM", async () => {
  void tell({ type: "ending" });
  server.close();
  while (underWay.size > 0) await Promise.all(underWay);
  process.exit();
});

// The test has ended, however it ended: no instance is left behind.
process.once("disconnect", () => process.exit());

/** What the functions import by name: leasehold of the sources, and what stands in for Next. */
function aliases(): Record<string, string> {
  const root = new URL("../../../", import.meta.url);
  const file = (path: string, base: URL | string = root) => fileURLToPath(new URL(path, base));
  const manifest = JSON.parse(readFileSync(file("package.json"), "utf8")) as {
    exports: Record<string, string | { default: string }>;
  };
  const doors = Object.entries(manifest.exports).flatMap(([name, target]) => {
    if (typeof target === "string") return [];
    const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
    return [[name.replace(".", "leasehold"), file(source)]];
  });
  return {
    ...(Object.fromEntries(doors) as Record<string, string>),
    leasehold: file("leasehold.ts", import.meta.url),
    "leasehold/next": file("leasehold-next.ts", import.meta.url),
    "next/server.js": file("after.ts", import.meta.url),
    "next/server": file("after.ts", import.meta.url),
  };
}
