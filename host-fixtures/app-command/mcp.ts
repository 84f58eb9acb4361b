#!/usr/bin/env bun
import { Writable } from "node:stream";
import { Command, CommanderError } from "commander";
import { CommandFailure } from "./command-failure.ts";
import { describeError } from "./describe-error.ts";
import { serveMcp } from "./serve-mcp.ts";
import { takeStdout } from "./take-stdout.ts";
import { untilSignal } from "./until-signal.ts";

const write = takeStdout();
const { signal, forget } = untilSignal();
const log = (line: string): void => void process.stderr.write(`mcp: ${line}\n`);

const program = new Command("mcp")
  .description("Serves an application's mcpOperations as MCP tools, on standard input and output.")
  .requiredOption("--root <folder>", "the application's folder, which has a tasks.config.ts")
  .allowExcessArguments(false)
  .exitOverride()
  // Its own complaints quote arguments, and an argument may be a secret in the wrong place: ours replace them.
  .configureOutput({ writeOut: (text) => process.stderr.write(text), outputError: () => undefined });

try {
  const { root } = program.parse().opts<{ root: string }>();
  const stdout = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => void write(text).then(() => done(), done),
  });
  await serveMcp(root, { stdin: process.stdin, stdout, log, environment: process.env, signal });
} catch (error) {
  process.exitCode = tell(error);
} finally {
  forget();
}

/** Says why nothing is served any more, and answers the exit code. */
function tell(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode !== 0) log("invalid-usage: expected --root FOLDER and nothing else");
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof CommandFailure) {
    log(`${error.code}: ${error.message}`);
    return error.exitCode;
  }
  log(describeError(error, process.env));
  return 1;
}
