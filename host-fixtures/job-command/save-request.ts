import { randomUUID } from "node:crypto";
import { link, open, readFile, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { JobSubmitInput } from "../../job-provider/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import { readInput } from "../app-command/read-input.ts";

/** Largest file of a request, in bytes: more than the longest configuration with the most paths takes. */
const maxRequestBytes = 256 * 1024 * 1024;

/**
 * Keeps a request in a file of its own, for its user alone, so that the very same can be sent again. It is there as a whole and lasts before
 * this resolves. A file that is there already is left as it is, and is fine when it holds this very request.
 *
 * @throws CommandFailure `file-exists` for one that holds something else, `not-saved`
 */
export async function saveRequest(path: string, request: JobSubmitInput): Promise<void> {
  const file = resolve(path);
  const beside = `${file}.${randomUUID()}`;
  const text = `${JSON.stringify(request, null, 2)}\n`;
  try {
    await writeSynced(beside, text);
    await link(beside, file); // unlike a rename, it replaces nothing
    await syncFolder(dirname(file));
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code !== "EEXIST")
      throw failure(1, "not-saved", `--save: the file cannot be written (${code ?? "no code"})`);
    if ((await readFile(file, "utf8").catch(() => undefined)) === text) return;
    throw failure(
      2,
      "file-exists",
      "--save: the file holds something else. A request that was saved is sent again by --request; another one takes another file",
    );
  } finally {
    await rm(beside, { force: true }).catch(() => undefined);
  }
}

/** The request that a file holds, as JSON that is still to be checked. @throws CommandFailure `invalid-input` */
export function readRequest(path: string, signal: AbortSignal): Promise<unknown> {
  return readInput(() => Bun.file(path).stream(), signal, maxRequestBytes);
}

async function writeSynced(path: string, text: string): Promise<void> {
  await using handle = await open(path, "wx", 0o600);
  await handle.writeFile(text);
  await handle.sync();
}

async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}

function failure(exitCode: 1 | 2, code: string, message: string): CommandFailure {
  return new CommandFailure(exitCode, code, message);
}
