import * as fc from "fast-check";
import { runCommandLine } from "../../plugin/operator/command-line.ts";
import { isSchemaName } from "../../plugin/store/schema/identifier.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { hostileText, nearlySchema } from "./hostile-values.ts";

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
const commands = fc.constantFrom("setup", "upgrade", "check", "plan", "fence");
const lines = fc.oneof(
  { weight: 2, arbitrary: fc.array(fc.oneof(words, hostileText), { maxLength: 6 }) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(commands, fc.oneof(hostileText, nearlySchema))
      .map(([command, schema]) => [command, schema, "--json"]),
  },
  {
    weight: 2,
    arbitrary: fc
      .oneof(hostileText, fc.constantFrom("", "public", "none", "pg_monitor", "r".repeat(64), "a\tb"))
      .map((role) => ["setup", "jobs", "--json", `--runtime-role=${role}`]),
  },
);

/** Nobody listens there. */
const closed = `postgres://user:${canary}@127.0.0.1:1/app`;
const urls = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  { weight: 4, arbitrary: fc.constantFrom(`postgres:${canary}`, `postgres://user:${canary}@h:port/app`) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom("sslmode", "connect_timeout", "sslrootcert", "foo", `a.${canary}`), hostileText)
      .map(([name, value]) => `${closed}?${name}=${encodeURIComponent(value.toWellFormed())}${canary}`),
  },
  { weight: 1, arbitrary: fc.constantFrom(`${closed}?x=1&${canary}@h/app`, `${closed}?x&${canary}=@h/app`) },
  { weight: 2, arbitrary: fc.constant(closed) },
);

/** Arguments of the operator's command and the URL in its environment, names of schemas and roles in their place among them. */
export const commandLine: FuzzTarget = {
  name: "command lines",
  share: 2,
  leastOfThousand: {
    help: 15,
    "wrong usage": 80,
    "no URL": 15,
    "schema refused": 60,
    "URL refused": 15,
    "option refused": 15,
    "role refused": 3,
    "nobody listens": 5,
  },
  property: (reach) =>
    fc.asyncProperty(lines, urls, async (args, url) => {
      const printed: string[] = [];
      const output = { out: (text: string) => printed.push(text), err: (text: string) => printed.push(text) };
      const environment = url === undefined ? {} : { LENSO_JOBS_DATABASE_URL: url };
      const code = await runCommandLine(args, environment, output);
      expectNoCanary(...printed);
      const text = printed.join("");
      if (text.includes("a bug in lenso-jobs")) throw new Error("arguments were answered as a bug");
      const isHelp = args.some((argument) => /^(--help|--version|-[hV].*)$/s.test(argument));
      const answer = code === 0 && isHelp ? "help" : answerOf(text);
      reach(answer);
      if (answer !== "help" && code !== (answer === "nobody listens" ? 3 : 2))
        throw new Error(`bad arguments ended with code ${code}`);
      if (answer === "nobody listens" && url !== closed) throw new Error("a bad URL was connected to");
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

/** Which check an output comes from. */
function answerOf(text: string): string {
  return Object.entries(answers).find(([, words]) => text.includes(words))?.[0] ?? "wrong usage";
}

const answers: Readonly<Record<string, string>> = {
  "no URL": "set LENSO_JOBS_DATABASE_URL",
  "schema refused": "schema: expected a-z",
  "URL refused": "database URL: expected",
  "option refused": "database URL: its option",
  "role refused": "runtime role: expected",
  "nobody listens": "cannot be reached (",
};
