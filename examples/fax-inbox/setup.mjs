/**
 * Puts leasehold into node_modules as it would be published, since this folder shows it before it is.
 * In your application this is `npm install leasehold`. A `file:` dependency on the repository would be
 * a symlink, which bundlers do not follow out of the application.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const repository = join(here, "../..");

function npm(cwd, ...args) {
  const shell = process.platform === "win32"; // npm is a batch file there
  return execFileSync("npm", args, { cwd, shell, encoding: "utf8", stdio: ["ignore", "pipe", 2] });
}

function install() {
  console.log("Installing the packages of this example, once …");
  if (!existsSync(join(repository, "node_modules"))) npm(repository, "ci");
  const folder = mkdtempSync(join(tmpdir(), "leasehold-fax-inbox-"));
  try {
    npm(repository, "run", "build");
    const options = ["--json", "--ignore-scripts", "--pack-destination", folder];
    const packed = npm(repository, "pack", ...options);
    npm(here, "install", "--no-save", "--silent", join(folder, JSON.parse(packed)[0].filename));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (!existsSync(join(here, "node_modules/leasehold"))) install();
