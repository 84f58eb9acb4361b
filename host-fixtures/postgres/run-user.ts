import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** The user that the server's programs run as. PostgreSQL refuses to run as root. */
export interface RunUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The unprivileged user to run PostgreSQL as, or undefined when this process is not root and runs it itself.
 * Takes `postgres` where it exists, else `nobody`, so that no user has to be added to the machine.
 */
export function runUser(): RunUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const user = lookUp("postgres") ?? lookUp("nobody");
  if (user) return user;
  throw new Error(
    'PostgreSQL cannot run as root, and this machine has neither a user "postgres" nor "nobody" to run it as: add one, or run as an ordinary user',
  );
}

/** Whether the user may enter a folder and list it. It needs the x bit of every folder above it too. */
export function canReach(folder: string, user: RunUser | undefined): boolean {
  if (!user) return true;
  for (let path = resolve(folder); ; path = dirname(path)) {
    const { mode, uid, gid } = statSync(path);
    const bits = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode;
    const wanted = path === resolve(folder) ? 0b101 : 0b001;
    if ((bits & wanted) !== wanted) return false;
    if (path === dirname(path)) return true;
  }
}

function lookUp(name: string): RunUser | undefined {
  try {
    const id = (flag: string) =>
      Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined; // no such user here
  }
}
