import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/** Our ends of the pipes. Held here, so that none is closed because its server's owner forgot it. */
const watching = new Set<Socket>();

/**
 * Stops the server in this folder and removes the folder as soon as this process ends, however it ends: exit, a signal,
 * `kill -9`. A small shell waits for the end of a pipe that only we hold open, so no signal handler is needed here.
 * Returns a function that dismisses it.
 */
export function watchServer(folder: string): () => void {
  const shell = spawn("sh", ["-c", script, "watchdog", folder], {
    cwd: "/",
    detached: true, // not in our process group: a Ctrl-C must not reach it
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  shell.unref();
  const pipe = shell.stdio[3] as Socket;
  pipe.unref();
  pipe.on("error", () => {}); // the shell was killed: the next start cleans up instead
  watching.add(pipe);
  return () => {
    watching.delete(pipe);
    pipe.end("dismissed\n");
  };
}

// In the background the shell becomes a child of init: a parent that kills its descendants at its end, as a worker of
// `bun test --parallel` does, does not find it. SIGQUIT is an immediate shutdown; the postmaster removes its pid file last.
const script = `
{
  read -r dismissed <&3 && exit 0
  pid=$(head -n 1 "$1/data/postmaster.pid") && kill -QUIT "$pid"
  tries=0
  while [ -e "$1/data/postmaster.pid" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
  rm -rf "$1"
} &
`;
