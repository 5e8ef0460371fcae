import { spawn } from "node:child_process";

/** Reads a line; where none comes, whoever held the other end was killed, and its group goes too. */
const script = `
read -r line && exit 0
kill -s TERM -- "-$1" 2>/dev/null || exit 0
i=0
while kill -s 0 -- "-$1" 2>/dev/null && [ "$i" -lt 30 ]; do
  [ "$i" -ge 20 ] && kill -s KILL -- "-$1" 2>/dev/null
  i=$((i + 1))
  sleep 0.1
done`;

export interface Leash {
  /** The process group has ended by itself. */
  release(): void;
}

/**
 * Ends a process group when this process ends without having done so. No process can do anything
 * about its own SIGKILL, and a server that it leaves behind would hold its port against the next
 * start; so a shell waits for the end of a pipe, which the kernel closes.
 */
export function startLeash(groupId: number): Leash {
  const shell = spawn("/bin/sh", ["-c", script, "leasehold-leash", String(groupId)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // a Ctrl-C at the terminal is not for it
  });
  shell.on("error", () => undefined); // no shell: then there is no such help
  shell.stdin.on("error", () => undefined);
  shell.unref();
  return { release: () => void shell.stdin.end("released\n") };
}
