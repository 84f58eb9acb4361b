import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { jobHostTemplate } from "../../job-provider/host/testing/job-host-composition.ts";
import { afterTestFile } from "../../tests/support/after-test-file.ts";
import { testDatabase } from "../../tests/support/test-database.ts";
import { runJobCommand } from "../job-command/command-line.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The options that lead to the small job host. */
export const jobHostFiles: readonly string[] = [
  "--composition",
  at("jobs/host.json"),
  "--jobs",
  at("jobs/job-host.ts"),
];

/** A folder that goes with the test file. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "job-command-"));
  afterTestFile(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Points the small job host, also that of child processes, to a fresh database: with its tables, or empty. */
export async function useDatabase(kind: "set up" | "empty" = "set up"): Promise<string> {
  const { url } = await testDatabase(kind === "empty" ? undefined : jobHostTemplate);
  process.env["JOBS_TEST_URL"] = url;
  process.env["JOBS_TEST_FOLDER"] = testFolder();
  return url;
}

/** What a command is run with. */
export interface CommandRun {
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  readonly isTerminal?: boolean;
  /** Told all output so far, whenever there is more. */
  readonly onOutput?: (text: string) => void;
}

/** Runs a command in this process. */
export async function runCommand(
  args: readonly string[],
  { stdin = "", signal = new AbortController().signal, isTerminal = false, onOutput }: CommandRun = {},
): Promise<{ readonly exitCode: number; readonly out: string; readonly err: string }> {
  let [out, err] = ["", ""];
  const exitCode = await runJobCommand(args, {
    stdin: () => new Blob([stdin]).stream(),
    out(text) {
      out += text;
      onOutput?.(out + err);
    },
    err(text) {
      err += text;
      onOutput?.(out + err);
    },
    isTerminal,
    environment: process.env,
    signal,
  });
  return { exitCode, out, err };
}

/** An envelope, with the exit code of its command. */
export interface Envelope<Data = unknown> {
  readonly exitCode: number;
  readonly schemaVersion: number;
  readonly ok: boolean;
  /** There when it is ok. */
  readonly data: Data;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Runs a command on the small job host with `--json` and takes its envelopes apart. */
export async function jsonAnswers<Data>(
  args: readonly string[],
  run?: CommandRun,
): Promise<readonly Envelope<Data>[]> {
  const { exitCode, out } = await runCommand([...args, ...jobHostFiles, "--json"], run);
  const lines = out.trimEnd().split("\n");
  return lines.map((line) => ({ exitCode, ...(JSON.parse(line) as Omit<Envelope<Data>, "exitCode">) }));
}

/** The one envelope of a command. */
export async function jsonAnswer<Data>(args: readonly string[], run?: CommandRun): Promise<Envelope<Data>> {
  const answers = await jsonAnswers<Data>(args, run);
  if (answers.length !== 1 || answers[0] === undefined)
    throw new Error(`${answers.length} envelopes, not one`);
  return answers[0];
}
