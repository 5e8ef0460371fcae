import { readdirSync } from "node:fs";
import { dirname, join, posix, sep } from "node:path";

type Handler = (
  request: Request,
  context: { params: Promise<Record<string, string | string[]>> },
) => Promise<Response> | Response;

export type RouteModule = Readonly<Partial<Record<string, Handler>>>;

/**
 * The `route.ts` files below a folder `app`, by the paths that Next gives them. Loaded at once, since a
 * start is no part of an invocation; one that can't be loaded fails when it is asked for.
 */
export async function routesBelow(
  app: string,
  load: (file: string) => Promise<RouteModule>,
): Promise<(request: Request) => Promise<Response>> {
  const routes: { path: RegExp; module: Promise<RouteModule> }[] = [];
  for (const file of readdirSync(app, { recursive: true, encoding: "utf8" })) {
    if (!/(^|[\\/])route\.ts$/.test(file)) continue;
    const module = load(join(app, file));
    routes.push({ path: pathOf(dirname(file).split(sep).join(posix.sep)), module });
    // One after the other: what two of them import must not be evaluated twice.
    await module.catch(() => undefined);
  }
  return async (request) => {
    const { pathname } = new URL(request.url);
    const route = routes.find(({ path }) => path.test(pathname));
    if (route === undefined) return new Response(null, { status: 404 });
    const handler = (await route.module)[request.method];
    if (handler === undefined) return new Response(null, { status: 405 });
    const params = { ...route.path.exec(pathname)?.groups };
    return handler(request, { params: Promise.resolve(params) });
  };
}

/** `api/leasehold/[...route]` as a pattern; folders in parentheses are no part of the path. */
function pathOf(folder: string): RegExp {
  const parts = folder.split("/").filter((part) => !/^(\.|\(.*\))$/.test(part));
  const patterns = parts.map((part) =>
    part.replace(/^\[\.\.\.(\w+)\]$/, "(?<$1>.+)").replace(/^\[(\w+)\]$/, "(?<$1>[^/]+)"),
  );
  return new RegExp(`^/${patterns.join("/")}$`);
}
