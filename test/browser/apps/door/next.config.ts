import type { NextConfig } from "next";

const config: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
  output: "standalone",
  typescript: { ignoreBuildErrors: Boolean(process.env.WITHOUT_TYPES) },
  // As docs/next.md has it, for the embedded database under webpack.
  serverExternalPackages: ["@electric-sql/pglite"],
};

export default config;
