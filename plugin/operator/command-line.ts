import { Command, CommanderError } from "commander";
import { packageVersion } from "../package-version.ts";
import { check } from "./check.ts";
import { fence } from "./fence.ts";
import { plan } from "./plan.ts";
import { type AnyReport, type Output, printReport, usageRefusal } from "./print-report.ts";
import type { OperatorCommand } from "./report.ts";
import { setup } from "./setup.ts";
import { upgrade } from "./upgrade.ts";

/** Runs `lenso-jobs` with these arguments and answers its exit code. The URL comes from `environment` alone. */
export async function runCommandLine(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  output: Output,
): Promise<number> {
  const json = args.includes("--json");
  if (args.some(mayHoldUrl)) {
    return printReport(
      output,
      json,
      usageRefusal("an argument looks like a database URL, which belongs in LENSO_JOBS_DATABASE_URL alone"),
    );
  }
  let code = 0;
  const run = async (
    work: (options: { readonly databaseUrl: string }) => Promise<AnyReport>,
    command: OperatorCommand,
  ) => {
    const databaseUrl = environment.LENSO_JOBS_DATABASE_URL;
    const report = databaseUrl
      ? await work({ databaseUrl })
      : usageRefusal("set LENSO_JOBS_DATABASE_URL to the database's URL", { command });
    code = printReport(output, json, report);
  };
  try {
    await program(run, output).parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      // A bug. Its text may hold anything, its name does not.
      const what = error instanceof Error ? error.constructor.name : typeof error;
      return printReport(
        output,
        json,
        usageRefusal(`unexpected ${what}, a bug in lenso-jobs`, { code: "internal" }),
      );
    }
    if (error.exitCode === 0) return 0;
    return printReport(output, json, usageRefusal(usageMessages[error.code] ?? "wrong usage"));
  }
}

type Runner = (
  work: (options: { readonly databaseUrl: string }) => Promise<AnyReport>,
  command: OperatorCommand,
) => Promise<void>;

function program(run: Runner, output: Output): Command {
  const root = new Command("lenso-jobs")
    .description("Sets up and looks after the PostgreSQL schema of a Jobs Instance.")
    .exitOverride()
    // Its own complaints quote arguments, and an argument may be a secret in the wrong place: ours replace them.
    .configureOutput({ writeOut: output.out, writeErr: output.err, outputError: () => undefined })
    .helpCommand(false)
    .version(packageVersion)
    .action(() => {
      throw new CommanderError(2, "commander.help", "");
    })
    .addHelpText("after", epilogue);
  const command = (name: OperatorCommand, description: string) =>
    root
      .command(name)
      .description(description)
      .argument("<schema>", "the Instance's schema, as in its configuration")
      .option("--json", "print one JSON object instead of text")
      .allowExcessArguments(false)
      .addHelpText("after", epilogue);
  command("setup", "Creates the schema, or says that it is already current.")
    .option(
      "--runtime-role <name>",
      "give this role exactly what the plugin needs, also when the schema exists",
    )
    .action((schema: string, { runtimeRole }: { runtimeRole?: string }) =>
      run((url) => setup({ ...url, schema, ...(runtimeRole === undefined ? {} : { runtimeRole }) }), "setup"),
    );
  command("upgrade", "Applies the migrations that the schema lacks.").action((schema: string) =>
    run((url) => upgrade({ ...url, schema }), "upgrade"),
  );
  command("check", "Says whether the plugin could start, and changes nothing.").action((schema: string) =>
    run((url) => check({ ...url, schema }), "check"),
  );
  command("plan", "Prints the SQL that setup or upgrade would run, and changes nothing.").action(
    (schema: string) => run((url) => plan({ ...url, schema }), "plan"),
  );
  command("fence", "Voids every lease, after a restore from backup.").action((schema: string) =>
    run((url) => fence({ ...url, schema }), "fence"),
  );
  return root;
}

const epilogue = `
The database URL is read from LENSO_JOBS_DATABASE_URL and nowhere else:
  postgres://USER:PASSWORD@HOST:PORT/DATABASE

Exit codes:
  0  done; for check: the plugin can start
  1  refused by the state of the schema or database: the message says what to do
  2  wrong usage or input
  3  the database was not reachable, too busy, or refused

With --json, one object on standard output:
  { "ok", "command", "schema", "code", "message", "exitCode", … }
  and "next" (a command, or null) when "ok" is false, or what the command found when it is true.
`;

/** By commander's own code for what went wrong. None quotes an argument. */
const usageMessages: Readonly<Record<string, string>> = {
  "commander.help":
    "expected a command: setup, upgrade, check, plan or fence, then SCHEMA; see lenso-jobs --help",
  "commander.unknownCommand":
    "unknown command: expected setup, upgrade, check, plan or fence; see lenso-jobs --help",
  "commander.excessArguments":
    "expected a command (setup, upgrade, check, plan or fence) and one SCHEMA; see lenso-jobs --help",
  "commander.unknownOption":
    "unknown option: expected --json, or --runtime-role NAME for setup; see lenso-jobs --help",
  "commander.missingArgument": "SCHEMA is missing: lenso-jobs COMMAND SCHEMA",
  "commander.optionMissingArgument": "--runtime-role: expected a role's name after it",
};

/** A URL, a connection string of the form `host=… password=…`, or a piece of one. */
function mayHoldUrl(argument: string): boolean {
  return /:\/\/|@|\bpostgres(ql)?:|\b(password|host|user|dbname)\s*=/i.test(argument);
}
