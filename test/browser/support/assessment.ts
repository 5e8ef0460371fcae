import { createHmac } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { type AppDatabase, startDatabase } from "./database.ts";
import { installApp } from "./next-app.ts";
import { type NextServer, serve } from "./next-server.ts";
import { onceInRun } from "./once.ts";
import { type Outside, startOutside } from "./outside.ts";
import { sees } from "./sees.ts";
import { until } from "./until.ts";

const secret = "of the tests";

/** The example as it runs for a test: its own database, and services outside that the test rules. */
export interface Assessment {
  readonly folder: string;
  readonly database: AppDatabase;
  readonly outside: Outside;
  /** Starts the server; `env` says how fast, and with which lease. */
  serve(env?: Record<string, string>): Promise<NextServer>;
  stop(): Promise<void>;
}

export async function openAssessment(): Promise<Assessment> {
  const folder = await builtFolder();
  const database = await startDatabase(folder);
  const outside = await startOutside();
  return {
    folder,
    database,
    outside,
    serve: (env) => serve(folder, { env: { ...envOf(database.url, outside.url), ...env } }),
    async stop() {
      outside.stop();
      await database.stop();
    },
  };
}

function envOf(databaseUrl: string, outsideUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    OUTSIDE_URL: outsideUrl,
    SESSION_SECRET: secret,
    MODEL_STEP_MS: "1",
  };
}

/** Installed and built once in a run of the tests, for all files; the run removes it. */
function builtFolder(): Promise<string> {
  return onceInRun("built-assessment", async () => {
    const app = await installApp("examples/assessment");
    await app.build();
    return app.folder;
  });
}

export function cookieOf(user: string): string {
  const signature = createHmac("sha256", secret).update(user).digest("base64url");
  return `assessment-user=${user}.${signature}`;
}

/** A page of a browser of its own, in which `user` is signed in. */
export async function pageOf(
  browser: Browser,
  server: NextServer,
  user: string,
  locale = "en-GB",
): Promise<Page> {
  const context = await browser.newContext({ locale });
  const [name = "", value = ""] = cookieOf(user).split("=");
  await context.addCookies([{ name, value, url: server.url }]);
  const page = await context.newPage();
  await page.goto(server.url);
  await sees(page, "#address");
  return page;
}

/** Fills in the form. */
export async function submitOn(page: Page, address: string): Promise<void> {
  await page.fill("#address", address);
  await page.click("button.primary");
}

/** Waits until the followed job has this status; answers the text of its card. */
export async function cardOf(page: Page, status: string, withinMs = 30_000): Promise<string> {
  const card = await sees(page, `[data-status=${status}]`, { timeout: withinMs });
  return (await card.textContent()) ?? "";
}

/** Waits until the page shows this balance. */
export async function showsBalance(page: Page, available: number, held: number): Promise<void> {
  const shown = async () => [
    await page.textContent("[data-testid=available]"),
    await page.textContent("[data-testid=held]"),
  ];
  const wanted = `${available} available, ${held} held`;
  await until(async () => (await shown()).join() === `${available},${held}`, wanted);
}

/** Asks leasehold's routes as a browser of `user` does. */
export function request(
  server: NextServer,
  user: string | null,
  path: string,
  { headers = {}, ...init }: RequestInit = {},
): Promise<Response> {
  const cookie = user === null ? {} : { cookie: cookieOf(user) };
  return fetch(`${server.url}/api/leasehold${path}`, {
    ...init,
    headers: { ...cookie, ...(headers as Record<string, string>) },
  });
}

export function submit(server: NextServer, user: string, address = "1 Elm Row"): Promise<Response> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ address });
  return request(server, user, "/jobs/assess", { method: "POST", headers, body });
}
