import { Command, CommanderError } from "commander";
import type { JsonValue } from "../../capability/index.ts";
import type { Operation } from "../app/define-operation.ts";
import { describeOperation } from "../app/describe-operation.ts";
import { HostError } from "../host-error.ts";
import { callOperation } from "./call-operation.ts";
import { CommandFailure } from "./command-failure.ts";
import { describeError } from "./describe-error.ts";
import { type AppRoot, loadAppRoot } from "./load-app-root.ts";
import { operationText } from "./operation-text.ts";
import { readInput } from "./read-input.ts";

/** What the command line has of the process that it runs in. */
export interface CommandIo {
  /** Opened only for `--stdin`. */
  stdin(): ReadableStream<Uint8Array>;
  /** For the answer alone. */
  out(text: string): void;
  /** For everything else. */
  err(text: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts when the person gives up. */
  readonly signal: AbortSignal;
}

/**
 * Describes or calls an operation of an application and answers the exit code: 0 done, 1 the run failed, 2 the input is wrong, 3 there
 * is nothing of the name. With `--json` the one thing on standard output is `{ schemaVersion: 1, ok, data | error: { code, message } }`.
 */
export async function runAppCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const json = args.includes("--json");
  try {
    const answer = await run(args, io);
    if (answer) io.out(json ? envelope({ ok: true, data: answer.data }) : answer.text);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // its help was printed
    const { code, message, exitCode } = asFailure(error, io);
    if (json) io.out(envelope({ ok: false, error: { code, message } }));
    else io.err(`${code}: ${message}\n`);
    return exitCode;
  }
}

/** What a command found, for a program and for a person. */
interface Answer {
  readonly data: JsonValue;
  readonly text: string;
}

/** Undefined when commander has printed its help. */
async function run(args: readonly string[], io: CommandIo): Promise<Answer | undefined> {
  let answer: Answer | undefined;
  const program = new Command("cli")
    .description("Describes and calls the operations of an application.")
    .exitOverride()
    // Its own complaints quote arguments, and an argument may be a secret in the wrong place: ours replace them.
    .configureOutput({ writeOut: io.out, writeErr: io.err, outputError: () => undefined })
    .helpCommand(false)
    .option("--json", "print one JSON envelope")
    .action(() => {
      throw new CommanderError(2, "commander.help", "");
    })
    .addHelpText("after", exitCodes);
  program
    .command("inspect")
    .description("Describes an operation, or lists those of a group, or all. Starts nothing.")
    .argument("[group]")
    .argument("[operation]")
    .requiredOption("--root <folder>", "the application's folder, which has a tasks.config.ts")
    .option("--json", "print one JSON envelope")
    .allowExcessArguments(false)
    .action(async (group: string | undefined, name: string | undefined, { root }: { root: string }) => {
      answer = await inspect(await loadAppRoot(root, io.environment), group, name);
    });
  program
    .command("call")
    .description("Starts the application, calls one operation and stops the application.")
    .argument("<group>")
    .argument("<operation>")
    .requiredOption("--root <folder>", "the application's folder, which has a tasks.config.ts")
    .option("--stdin", "read the input, one JSON document, from standard input")
    .option("--input <file>", "read it from a file")
    .option("--yes", "confirm an operation that asks for it")
    .option("--json", "print one JSON envelope")
    .allowExcessArguments(false)
    .action(async (group: string, name: string, options: CallOptions) => {
      const open = inputStream(options, io);
      const root = await loadAppRoot(options.root, io.environment);
      const operation = operationOf(root, group, name);
      const input = await readInput(open, io.signal);
      const { signal, environment } = io;
      const confirmed = options.yes === true;
      const log = (line: string): void => io.err(`${line}\n`);
      const data = await callOperation({ root, name, operation, input, confirmed, signal, environment, log });
      answer = { data, text: `${JSON.stringify(data, null, 2)}\n` };
    });
  await program.parseAsync([...args], { from: "user" });
  return answer;
}

interface CallOptions {
  readonly root: string;
  readonly stdin?: boolean;
  readonly input?: string;
  readonly yes?: boolean;
}

async function inspect(root: AppRoot, group?: string, name?: string): Promise<Answer> {
  if (group !== undefined && name !== undefined) {
    const found = { group, ...(await describeOperation(name, operationOf(root, group, name))) };
    return { data: found as unknown as JsonValue, text: operationText(found) };
  }
  const groups = group === undefined ? Object.keys(root.operations) : [group];
  const listed = groups.flatMap((each) =>
    Object.entries(groupOf(root, each)).map(async ([byName, operation]) => ({
      group: each,
      ...(await describeOperation(byName, operation)),
    })),
  );
  const found = await Promise.all(listed);
  return { data: found as unknown as JsonValue, text: found.map(operationText).join("\n") };
}

function operationOf(root: AppRoot, group: string, name: string): Operation {
  const byName = groupOf(root, group);
  const operation = Object.hasOwn(byName, name) ? byName[name] : undefined;
  if (operation) return operation;
  throw new CommandFailure(3, "unknown-operation", `no such operation in the group, only ${listOf(byName)}`);
}

function groupOf({ operations }: AppRoot, group: string): Readonly<Record<string, Operation>> {
  const byName = Object.hasOwn(operations, group) ? operations[group] : undefined;
  if (byName) return byName;
  throw new CommandFailure(3, "unknown-operation", `no such group, only ${listOf(operations)}`);
}

function listOf(byName: object): string {
  return Object.keys(byName).join(", ") || "none";
}

/** How to open the input. Which of both ways is settled before anything is loaded. */
function inputStream({ stdin, input }: CallOptions, io: CommandIo): () => ReadableStream<Uint8Array> {
  if (stdin === true && input === undefined) return io.stdin;
  if (stdin !== true && input !== undefined) return () => Bun.file(input).stream();
  throw new CommandFailure(2, "invalid-usage", "expected exactly one of --stdin and --input FILE");
}

function asFailure(error: unknown, io: CommandIo): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CommanderError)
    return new CommandFailure(2, "invalid-usage", usageMessages[error.code] ?? "wrong usage, see cli --help");
  if (error instanceof HostError)
    return new CommandFailure(3, "config-invalid", error.problems.map(({ message }) => message).join("; "));
  io.err(`${describeError(error, io.environment)}\n`);
  return new CommandFailure(1, "internal", "unexpected failure, told on standard error");
}

function envelope(result: {
  readonly ok: boolean;
  readonly data?: JsonValue;
  readonly error?: object;
}): string {
  return `${JSON.stringify({ schemaVersion: 1, ...result })}\n`;
}

const exitCodes = `
Exit codes:
  0  done
  1  the application did not start, or the call failed
  2  wrong usage or input; nothing was started
  3  no such application or operation
`;

/** By commander's own code for what went wrong. None quotes an argument. */
const usageMessages: Readonly<Record<string, string>> = {
  "commander.help": "expected a command, inspect or call; see cli --help",
  "commander.unknownCommand": "unknown command: expected inspect or call; see cli --help",
  "commander.unknownOption": "unknown option, see cli inspect --help and cli call --help",
  "commander.excessArguments": "expected a command, GROUP and OPERATION, and nothing more",
  "commander.missingArgument": "expected GROUP and OPERATION",
  "commander.missingMandatoryOptionValue": "--root: expected the application's folder",
  "commander.optionMissingArgument": "--root and --input: expected a path after it",
};
