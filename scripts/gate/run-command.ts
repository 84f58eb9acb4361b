import { join } from "node:path";
import { containsCanary, redactCanaries } from "./canaries.ts";

export const root: string = join(import.meta.dir, "../..");

export interface CommandResult {
  /** Not 0 when it failed, was killed or passed its time. */
  readonly exitCode: number;
  /** Where a canary came out, as "stdout line 12: …", redacted. */
  readonly canaries: readonly string[];
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Runs a command of this repository and passes its output on line by line, canaries redacted. */
export async function runCommand(
  command: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const child = Bun.spawn([...command], {
    cwd: options.cwd ?? root,
    env: {
      ...process.env,
      ...options.env,
      PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH ?? ""}`,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs, killSignal: "SIGKILL" }),
  });
  const canaries: string[] = [];
  await Promise.all([
    passOn(child.stdout, "stdout", canaries, (line) => process.stdout.write(line)),
    passOn(child.stderr, "stderr", canaries, (line) => process.stderr.write(line)),
  ]);
  const exitCode = await child.exited;
  return { exitCode: child.signalCode === null ? exitCode : exitCode || 1, canaries };
}

async function passOn(
  stream: ReadableStream<Uint8Array>,
  name: string,
  canaries: string[],
  write: (line: string) => unknown,
): Promise<void> {
  let number = 0;
  for await (const line of linesOf(stream)) {
    number += 1;
    const shown = redactCanaries(line);
    if (containsCanary(line)) canaries.push(`${name} line ${number}: ${shown.slice(0, 160)}`);
    write(`${shown}\n`);
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
