// Next is an optional peer, so its types may be absent; this is what the door uses of it.
declare module "next/server.js" {
  export function after(task: () => Promise<void>): void;
}
