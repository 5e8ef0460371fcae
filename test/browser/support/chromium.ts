import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";

/** Whatever would look for a host of its own fails at each start where there is no network. */
const quiet = [
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-quic",
  "--disable-sync",
];

/** Chromium's sandbox refuses root, and software drawing needs no GPU. */
const anywhere = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];

/**
 * Starts a headless Chromium: CHROMIUM_PATH, else the system's, else the one that comes as a package.
 * Close it with `browser.close()`.
 */
export async function launchChromium(): Promise<Browser> {
  const executablePath = await chromiumPath();
  return chromium.launch({ executablePath, headless: true, args: [...quiet, ...anywhere] });
}

async function chromiumPath(): Promise<string> {
  const known = [process.env.CHROMIUM_PATH, "/usr/bin/chromium", "/usr/bin/google-chrome"];
  const installed = known.find((path) => path && existsSync(path));
  return installed ?? packagedChromium();
}

/**
 * The package unpacks its Chromium into the temporary folder, readable by the user alone who was first;
 * so each user gets a folder, once per version, which takes its name only when it is complete.
 */
async function packagedChromium(): Promise<string> {
  const { version } = createRequire(import.meta.url)(
    "../node_modules/@sparticuz/chromium/package.json",
  ) as { version: string };
  const folder = join(tmpdir(), `leasehold-chromium-${version}-${process.getuid?.() ?? 0}`);
  const path = join(folder, "chromium");
  if (existsSync(path)) return path;
  const unpacking = mkdtempSync(`${folder}-`);
  unpackInto(unpacking);
  try {
    renameSync(unpacking, folder);
  } catch (error) {
    rmSync(unpacking, { recursive: true, force: true });
    if (!existsSync(path)) throw error; // else another process was first
  }
  return path;
}

/** In a process of its own: where to is read from the environment. */
function unpackInto(folder: string): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const script = 'import chromium from "@sparticuz/chromium"; await chromium.executablePath();';
  execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: join(import.meta.dirname, ".."),
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "ignore", "inherit"],
  });
}
