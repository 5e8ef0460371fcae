import type { NextConfig } from "next";

const config: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
  // The page and the cron ask every two seconds: `next dev` would print nothing else.
  logging: { incomingRequests: { ignore: [/^\/api\/(inbox|admin|leasehold\/drain)/] } },
  // Without it Next takes the repository around this folder for the application.
  turbopack: { root: import.meta.dirname },
};

export default config;
