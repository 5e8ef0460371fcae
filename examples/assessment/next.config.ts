import type { NextConfig } from "next";

const config: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
  // Without it Next takes the repository around this folder for the application.
  turbopack: { root: __dirname },
};

export default config;
