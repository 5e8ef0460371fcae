/**
 * Builds the dashboard's page out of dashboard/ into one module: whatever serves it needs no file beside
 * the code, and its policy can name the one script and the one style sheet that are in it.
 *
 *   node scripts/build-dashboard.mjs
 *
 * The module is written only when its content changed, so that watchers stay quiet.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(root, "src/dashboard/page.generated.ts");

const { script, style } = await parts();
const html = readFileSync(join(root, "dashboard/index.html"), "utf8");
const page = html
  .replace("</head>", () => `<style>${style}</style></head>`)
  .replace("</body>", () => `<script type="module">${script}</script></body>`);
const policy = [
  "default-src 'none'",
  `script-src ${hashOf(script)}`,
  `style-src ${hashOf(style)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
const etag = `"${createHash("sha256").update(page).digest("base64url").slice(0, 27)}"`;
const constant = (name, value) => `export const ${name}: string = ${JSON.stringify(value)};\n`;
const text = [
  "// Written by scripts/build-dashboard.mjs from dashboard/. Do not edit.\n",
  constant("page", page),
  constant("contentSecurityPolicy", policy),
  constant("etag", etag),
].join("\n");
if (!existsSync(target) || readFileSync(target, "utf8") !== text) writeFileSync(target, text);
if (process.argv.includes("--size")) {
  const size = (bytes) => `${(bytes / 1_000).toFixed(1)} kB`;
  console.log(`the page: ${size(Buffer.byteLength(page))}, gzipped ${size(gzipSync(page).length)}`);
}

async function parts() {
  const built = await build({
    root: join(root, "dashboard"),
    configFile: false,
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      write: false,
      target: "es2022",
      cssCodeSplit: false,
      modulePreload: false,
      rollupOptions: { input: join(root, "dashboard/src/main.tsx"), output: { format: "iife" } },
    },
  });
  const { output } = Array.isArray(built) ? built[0] : built;
  const scripts = output.filter(({ type }) => type === "chunk");
  const styles = output.filter(({ fileName }) => fileName.endsWith(".css"));
  if (output.length !== 2 || scripts.length !== 1 || styles.length !== 1) {
    throw new Error(
      `Not one script and one style sheet: ${output.map(({ fileName }) => fileName)}`,
    );
  }
  // Within the page, the end of an element would be one wherever it stands.
  return {
    script: scripts[0].code
      .trim()
      .replaceAll("</script", "<\\/script")
      .replaceAll("<!--", "<\\!--"),
    style: String(styles[0].source).trim().replaceAll("</style", "<\\/style"),
  };
}

function hashOf(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
