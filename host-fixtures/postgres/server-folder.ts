import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { canReach, type RunUser } from "./run-user.ts";

// The owner's process id stands in the folder's name, so a folder is never without one, however its owner dies.
const prefix = "lenso-postgres-";

/** A new empty folder in the temporary folder that the run user can work in. Leftovers of dead owners go first. */
export async function createServerFolder(user: RunUser | undefined): Promise<string> {
  const parents = [...new Set([tmpdir(), "/tmp", "/var/tmp"])];
  await Promise.all(parents.map(removeOrphans));
  const parent = parents.find((folder) => isReachable(folder, user));
  if (!parent)
    throw new Error(
      `the server's user (uid ${user?.uid ?? "of this process"}) can enter none of ${parents.join(", ")}`,
    );
  const folder = mkdtempSync(join(parent, `${prefix}${process.pid}-`));
  if (user) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Kills the server of each folder whose owner died without stopping it, and removes the folder. */
async function removeOrphans(parent: string): Promise<void> {
  for (const name of namesIn(parent)) {
    const owner = /^lenso-postgres-(\d+)-/.exec(name)?.[1];
    if (!owner || isAlive(Number(owner)) || !isOurs(join(parent, name))) continue;
    const folder = join(parent, name);
    await stopPostmaster(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** An immediate shutdown, awaited for 5 s at most: a folder cannot be removed while a server writes into it. */
async function stopPostmaster(folder: string): Promise<void> {
  for (const deadline = Date.now() + 5_000; Date.now() < deadline; await setTimeout(20)) {
    const pid = postmasterOf(folder);
    if (pid === undefined) return;
    try {
      process.kill(pid, "SIGQUIT");
    } catch {
      return; // gone since we looked
    }
  }
}

/** The process id of the folder's server, only if that process really is it: ids are used again after a reboot. */
function postmasterOf(folder: string): number | undefined {
  try {
    const dataDirectory = join(folder, "data");
    const pid = Number(readFileSync(join(dataDirectory, "postmaster.pid"), "utf8").split("\n")[0]);
    return commandLine(pid).includes(dataDirectory) ? pid : undefined;
  } catch {
    return undefined; // no pid file, or no such process
  }
}

function commandLine(pid: number): string {
  if (process.platform === "linux") return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
}

function isReachable(folder: string, user: RunUser | undefined): boolean {
  try {
    return canReach(folder, user);
  } catch {
    return false; // not there
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // alive, and another user's
  }
}

function isOurs(folder: string): boolean {
  try {
    const uid = process.getuid?.();
    return uid === 0 || statSync(folder).uid === uid;
  } catch {
    return false; // someone else removed it first
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
