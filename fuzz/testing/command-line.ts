import * as fc from "fast-check";
import { runCommandLine } from "../../plugin/operator/command-line.ts";
import { isSchemaName } from "../../plugin/store/schema/identifier.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { hostileText } from "./hostile-values.ts";

const words = fc.constantFrom(
  "setup",
  "upgrade",
  "check",
  "plan",
  "fence",
  "--json",
  "--runtime-role",
  "--help",
  "-h",
  "-V",
  "--version",
  "--",
  "-",
  "help",
  "--runtime-role=app",
  "--schema",
);
const lines = fc.oneof(
  fc.array(fc.oneof(words, hostileText), { maxLength: 6 }),
  fc
    .tuple(fc.constantFrom("setup", "upgrade", "check", "plan", "fence"), hostileText)
    .map(([command, schema]) => [command, schema, "--json"]),
);
/** Fails as soon as a command takes it for a database: the host's name has no address, and is never looked up for bad input. */
const notAUrl = `postgres:${canary}`;

/** Arguments of the operator's command, schema names in their place among them. */
export const commandLine: FuzzTarget = {
  name: "command lines",
  share: 2,
  property: () =>
    fc.asyncProperty(lines, fc.boolean(), async (args, hasUrl) => {
      const printed: string[] = [];
      const output = { out: (text: string) => printed.push(text), err: (text: string) => printed.push(text) };
      const environment = hasUrl ? { LENSO_JOBS_DATABASE_URL: notAUrl } : {};
      const code = await runCommandLine(args, environment, output);
      expectNoCanary(...printed);
      const text = printed.join("");
      if (text.includes("a bug in lenso-jobs")) throw new Error("arguments were answered as a bug");
      const isHelp = args.some((argument) => /^(--help|--version|-[hV].*)$/s.test(argument));
      if (code !== 2 && !(code === 0 && isHelp)) throw new Error(`bad arguments ended with code ${code}`);
      const [, schema, json] = args;
      if (
        json === "--json" &&
        args.length === 3 &&
        schema !== undefined &&
        !isSchemaName(schema) &&
        !isHelp
      ) {
        const report = JSON.parse(text) as { readonly ok: boolean; readonly code: string };
        if (report.ok || report.code !== "invalid_input")
          throw new Error(`a bad schema name was answered by ${report.code}`);
      }
    }),
};
