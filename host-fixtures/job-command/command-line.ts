import { Command, CommanderError } from "commander";
import { RuntimeFailureError } from "../../capability/index.ts";
import { JobFileError } from "../../job-provider/files/index.ts";
import { JobHostError } from "../../job-provider/host/index.ts";
import { JobContentMismatch } from "../../job-provider/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import { describeError } from "../app-command/describe-error.ts";
import { HostError } from "../host-error.ts";
import { addAskingCommands } from "./add-asking-commands.ts";
import { addReadingCommands } from "./add-reading-commands.ts";
import { addRunningCommands } from "./add-running-commands.ts";
import type { JobCommandContext } from "./job-command.ts";
import type { JobAnswer, JobCommandIo } from "./job-command-io.ts";

/**
 * Runs one command on a job host and answers the exit code: 0 done, 1 the run failed or was refused by where the job stands, 2 the input is
 * wrong, 3 there is no such thing, or it is not set up. With `--json` standard output holds one envelope
 * `{ schemaVersion: 1, ok, data | error: { code, message } }`; `watch` writes one a line.
 */
export async function runJobCommand(args: readonly string[], io: JobCommandIo): Promise<number> {
  const json = args.includes("--json");
  const answer = ({ data, text }: JobAnswer): void => io.out(json ? envelope({ ok: true, data }) : text);
  try {
    await program({ io, isJson: json, answer }, args).parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // its help was printed
    const { code, message, exitCode } = asFailure(error, io);
    if (json) io.out(envelope({ ok: false, error: { code, message } }));
    else io.err(`${code}: ${message}\n`);
    return exitCode;
  }
}

function program(context: JobCommandContext, args: readonly string[]): Command {
  const { io } = context;
  const root = new Command("jobs")
    .description("Submits, follows and works the jobs of a job host.")
    .exitOverride()
    // Its own complaints quote arguments, and an argument may be a secret in the wrong place: ours replace them.
    .configureOutput({ writeOut: io.out, writeErr: io.err, outputError: () => undefined })
    .helpCommand(false)
    .action(() => {
      throw new CommanderError(2, "commander.help", "");
    })
    .addHelpText("after", exitCodes);
  addAskingCommands(root, context);
  addReadingCommands(root, context);
  addRunningCommands(root, context);
  // Otherwise the options of a command that there is not would be what is complained of.
  const [name = ""] = args;
  if (name !== "" && !name.startsWith("-") && !root.commands.some((command) => command.name() === name))
    throw new CommanderError(2, "commander.unknownCommand", "");
  return root;
}

function asFailure(error: unknown, io: JobCommandIo): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CommanderError) return new CommandFailure(2, "invalid-usage", usageText(error));
  const describe = (thrown: unknown): string => describeError(thrown, io.environment);
  if (error instanceof JobHostError)
    return new CommandFailure(
      notThere.has(error.code) ? 3 : 1,
      error.code,
      describe({ message: hostErrorText(error) }),
    );
  if (error instanceof HostError) return new CommandFailure(3, "config-invalid", describe(error));
  // Several that failed to start and to stop come together, the reason first.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (first instanceof RuntimeFailureError) {
    const isPlan = first.kind === "invalid_resolved_plan";
    return new CommandFailure(isPlan ? 3 : 1, "start-failed", describe({ message: first.detail }));
  }
  if (error instanceof JobContentMismatch) return new CommandFailure(1, "content-mismatch", describe(error));
  if (error instanceof JobFileError)
    return new CommandFailure(1, "files-failed", describe({ message: error.message }));
  if (io.signal.aborted)
    return new CommandFailure(1, "cancelled", "given up before it was done: look what became of it");
  io.err(`${describe(error)}\n`);
  return new CommandFailure(1, "internal", "unexpected failure, told on standard error");
}

function usageText({ code, message }: CommanderError): string {
  const text = usageMessages[code] ?? "wrong usage, see jobs --help";
  // Of what is missing commander quotes the name, which is ours; of anything else it quotes what was given.
  const name = namesOurs.has(code) ? /'([^']*)'/.exec(message)?.[1] : undefined;
  return name === undefined ? text : `${name}: ${text}`;
}

const namesOurs: ReadonlySet<string> = new Set([
  "commander.missingArgument",
  "commander.missingMandatoryOptionValue",
  "commander.optionMissingArgument",
]);

/** Without the names of classes; what a database said adds nothing to our words. */
function hostErrorText({ code, message, cause }: JobHostError): string {
  const why = cause instanceof Error && cause.name !== "DatabaseError" ? `: ${cause.message}` : "";
  const shell = code === "schema-unfit" ? "; from a shell: jobs setup --runtime-role ROLE, as the owner" : "";
  return `${message}${why}${shell}`;
}

/** What is not there, or not set up. */
const notThere: ReadonlySet<string> = new Set(["job-not-found", "schema-unfit", "invalid-options"]);

function envelope(result: object): string {
  return `${JSON.stringify({ schemaVersion: 1, ...result })}\n`;
}

const exitCodes = `
Exit codes:
  0  done
  1  the run failed, or where the job stands forbids it
  2  wrong usage or input; nothing was started
  3  no such job, provider or file, or the host is not set up
`;

/** By commander's own code for what went wrong. None quotes an argument. */
const usageMessages: Readonly<Record<string, string>> = {
  "commander.help": "expected a command; see jobs --help",
  "commander.unknownCommand": "unknown command; see jobs --help",
  "commander.unknownOption": "unknown option; see jobs COMMAND --help",
  "commander.excessArguments": "more arguments than the command takes; see jobs COMMAND --help",
  "commander.missingArgument": "an argument is missing; see jobs COMMAND --help",
  "commander.missingMandatoryOptionValue": "a required option is missing; see jobs COMMAND --help",
  "commander.optionMissingArgument": "an option is without its value; see jobs COMMAND --help",
  "commander.invalidArgument":
    "an argument or option has a value that it cannot have; see jobs COMMAND --help",
};
