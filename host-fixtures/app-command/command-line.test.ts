import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appFolder, eventsIn, runAppProcess } from "../testing/run-app-process.ts";
import { runAppCommand } from "./command-line.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An application's folder with this configuration. `app` in it is the tiny application's own. */
function appRoot(config: string): string {
  const folder = mkdtempSync(join(tmpdir(), "app-root-"));
  folders.push(folder);
  const own = JSON.stringify(join(appFolder, "tasks.config.ts"));
  writeFileSync(
    join(folder, "tasks.config.ts"),
    `import * as app from ${own};\n${config}\nexport { app };\n`,
  );
  return folder;
}

interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

async function run(args: readonly string[], options: RunOptions = {}) {
  let [out, err] = ["", ""];
  const exitCode = await runAppCommand(args, {
    stdin: () => new Blob([options.stdin ?? ""]).stream(),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    environment: options.environment ?? {},
    signal: options.signal ?? new AbortController().signal,
  });
  return { exitCode, out, err };
}

/** Runs with `--json` and takes the one envelope apart. */
async function runJson(args: readonly string[], options?: RunOptions): Promise<object> {
  const { exitCode, out } = await run([...args, "--json"], options);
  return { exitCode, ...(JSON.parse(out) as object) };
}

const refused = (exitCode: number, code: string, message: unknown = expect.any(String)) => ({
  exitCode,
  schemaVersion: 1,
  ok: false,
  error: { code, message },
});
const inApp = ["--root", appFolder];

test("inspect describes an operation with the JSON Schema of its input", async () => {
  expect(await runJson(["inspect", "notes", "remove", ...inApp])).toEqual({
    exitCode: 0,
    schemaVersion: 1,
    ok: true,
    data: {
      group: "notes",
      name: "remove",
      description: "Removes a note.",
      effect: "write",
      destructive: true,
      retry: "look-first",
      cancellation: "ignored",
      confirmation: "Remove the note for good?",
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { id: { type: "string", minLength: 1, maxLength: 20 } },
        required: ["id"],
        additionalProperties: false,
      },
    },
  });
});

test("inspect lists a group or everything, for a person too", async () => {
  const names = ["read", "write", "remove", "fail", "wait", "cancel"];
  for (const group of [[], ["notes"]]) {
    const { data } = (await runJson(["inspect", ...group, ...inApp])) as { data: { name: string }[] };
    expect(data.map(({ name }) => name)).toEqual(names);
  }
  const { exitCode, out, err } = await run(["inspect", "notes", "remove", ...inApp]);
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
  expect(out).toMatch(/^notes remove\n {2}Removes a note\.\n {2}effect +write, destructive\n/);
});

test("call answers what the operation did, for a program and for a person", async () => {
  const args = ["call", "notes", "read", ...inApp, "--stdin"];
  expect(await runJson(args, { stdin: '{"id":"first"}' })).toEqual({
    exitCode: 0,
    schemaVersion: 1,
    ok: true,
    data: "hello",
  });
  expect(await run(args, { stdin: '{"id":"first"}' })).toEqual({ exitCode: 0, out: '"hello"\n', err: "" });

  const file = join(appRoot(""), "input.json");
  writeFileSync(file, '{"id":"first"}');
  expect(await run(["call", "notes", "read", ...inApp, "--input", file])).toMatchObject({ out: '"hello"\n' });
});

test("an operation that has to be confirmed is called with --yes alone", async () => {
  const args = ["call", "notes", "remove", ...inApp, "--stdin"];
  const stdin = '{"id":"first"}';
  expect(await runJson(args, { stdin })).toEqual(
    refused(2, "not-confirmed", "Remove the note for good? Say so with --yes"),
  );
  expect(await runJson([...args, "--yes"], { stdin })).toMatchObject({ exitCode: 0, ok: true, data: null });
  const missing = await runJson([...args, "--yes"], { stdin: '{"id":"absent"}' });
  expect(missing).toEqual(refused(1, "note-missing", "there is no note of this id"));
});

test.each<[string, string | Uint8Array, unknown]>([
  ["no input", " ", "the input: expected one JSON document, got nothing"],
  ["malformed JSON", '{"id":', "the input: expected one JSON document, got something else"],
  ["two documents", "{}{}", "the input: expected one JSON document, got something else"],
  ["a key that stands there twice", '{"id":"a","id":"b"}', "the input: an object holds a key twice"],
  ["bytes that are no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "the input: expected UTF-8"],
  ["more than a MiB", `"${"a".repeat(1_048_576)}"`, "the input: expected at most 1048576 bytes, got more"],
  ["what the schema refuses", '{"id":5}', "the schema refuses $.id"],
  [
    "an actor",
    '{"id":"first","actor":"root"}',
    expect.stringContaining("$.actor: an input cannot say who calls"),
  ],
])("an input is refused with exit code 2: %s", async (_name, stdin, message) => {
  expect(await runJson(["call", "notes", "read", ...inApp, "--stdin"], { stdin })).toEqual(
    refused(2, "invalid-input", message),
  );
});

test("a file that cannot be read is a wrong input", async () => {
  const args = ["call", "notes", "read", ...inApp, "--input", join(appFolder, "absent.json")];
  expect(await runJson(args)).toEqual(refused(2, "invalid-input", "the input: cannot be read"));
});

test.each([
  [[], "expected a command"],
  [["frobnicate"], "expected"],
  [["inspect"], "--root: expected the application's folder"],
  [["call", "notes", ...inApp], "expected GROUP and OPERATION"],
  [["call", "notes", "read", ...inApp], "exactly one of --stdin and --input"],
  [["call", "notes", "read", ...inApp, "--stdin", "--input", "x"], "exactly one of --stdin and --input"],
  [["inspect", "notes", "read", "more", ...inApp], "nothing more"],
  [["inspect", ...inApp, "--verbose"], "unknown option"],
])("wrong usage is refused with exit code 2: %j", async (args, expected) => {
  expect(await runJson(args)).toEqual(refused(2, "invalid-usage", expect.stringContaining(expected)));
  expect(await run(args)).toEqual({
    exitCode: 2,
    out: "",
    err: expect.stringMatching(/^invalid-usage: .+\n$/),
  });
});

test("help is no failure", async () => {
  const { exitCode, out } = await run(["--help"]);
  expect(exitCode).toBe(0);
  expect(out).toContain("Exit codes:");
});

test.each([
  [["inspect", "notes", "erase", ...inApp], "unknown-operation"],
  [["inspect", "toString", "call", ...inApp], "unknown-operation"],
  [["call", "notes", "constructor", ...inApp, "--stdin"], "unknown-operation"],
  [["inspect", "--root", join(appFolder, "absent")], "root-not-found"],
  [["inspect", "--root", join(appFolder, "..")], "root-not-found"],
])("what is not there is told with exit code 3: %j", async (args, code) => {
  expect(await runJson(args)).toEqual(refused(3, code));
});

test.each([
  ["export const operations = app.operations;", "plugins: expected a list of plugins"],
  ["export const { plugins } = app;", "operations: expected groups of operations by name"],
  [
    "export const { plugins } = app; export const operations = { notes: { read: { ...app.operations.notes.read, retry: 1 } } };",
    "operations.notes.read.retry: expected one of safe, look-first, never",
  ],
  [
    "export const { plugins, operations, manage } = app; export const mcpOperations = { read: { ...operations.notes.read } };",
    "mcpOperations: expected what selectManageOperations picked of manage, not read",
  ],
  [
    "export const { plugins, operations } = app; export const manage = { plugin: plugins[0], operations: operations.notes };",
    'operations.read: belongs to plugin "notes", expected that of "notes/store"',
  ],
])("a configuration that does not hold is told with exit code 3: %#", async (config, message) => {
  expect(await runJson(["inspect", "--root", appRoot(config)])).toEqual(
    refused(3, "config-invalid", `tasks.config.ts: ${message}`),
  );
});

test("a configuration that throws on import is told without the secrets in it", async () => {
  const secret = ["CANARY", "url"].join("-");
  const thrown = `throw new Error("cannot reach postgres://app:${secret}@db/notes, password=${secret}");`;
  const failed = await runJson(["inspect", "--root", appRoot(thrown)]);
  expect(failed).toEqual(
    refused(
      3,
      "config-failed",
      expect.stringContaining("cannot reach postgres://[hidden] password=[hidden]"),
    ),
  );
  expect(await runJson(["inspect", "--root", appRoot("export const = ;")])).toEqual(
    refused(3, "config-failed"),
  );
});

test("a start-up that fails is told with exit code 1, without the secrets of the environment", async () => {
  const secret = ["CANARY", "session"].join("-");
  const config = `
    export const { operations } = app;
    const broken = { id: "broken", requires: [], setup() { throw new Error("refused: ${secret}", { cause: new Error("why") }); } };
    export const plugins = [broken, ...app.plugins];`;
  const args = ["call", "notes", "read", "--root", appRoot(config), "--stdin"];
  expect(await runJson(args, { stdin: '{"id":"first"}', environment: { TASK_SESSION: secret } })).toEqual(
    refused(1, "start-failed", "the application did not start: Error: refused: [hidden]: Error: why"),
  );
});

test("an operation whose plugin is not started is a failed run that says so", async () => {
  const config = "export const { operations } = app; export const plugins = [];";
  const args = ["call", "notes", "read", "--root", appRoot(config), "--stdin"];
  expect(await runJson(args, { stdin: '{"id":"first"}' })).toEqual(
    refused(3, "config-invalid", expect.stringContaining('"notes" is not part of this application')),
  );
});

test("a stop that fails is told beside the answer, which stands", async () => {
  const config = `
    export const { operations } = app;
    const last = { id: "last", requires: [], setup(context) { context.onCleanup(() => { throw new Error("stuck"); }); } };
    export const plugins = [...app.plugins, last];`;
  const args = ["call", "notes", "read", "--root", appRoot(config), "--stdin"];
  expect(await run(args, { stdin: '{"id":"first"}' })).toEqual({
    exitCode: 0,
    out: '"hello"\n',
    err: "the application did not stop cleanly: Error: stuck\n",
  });
});

test("giving up while the input is read starts nothing", async () => {
  const args = ["call", "notes", "read", ...inApp, "--stdin"];
  expect(await runJson(args, { stdin: '{"id":"first"}', signal: AbortSignal.abort() })).toEqual(
    refused(1, "cancelled", "cancelled before anything was started"),
  );
});

test("a process answers on standard output alone, and stops what it started", async () => {
  const call = runAppProcess("cli", ["call", "notes", "write", ...inApp, "--stdin", "--json"]);
  await call.end('{"id":"a","text":"hello"}');
  const { exitCode, stdout, stderr } = await call.ended;
  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: `${JSON.stringify({ schemaVersion: 1, ok: true, data: { id: "a", length: 5 } })}\n`,
  });
  expect(eventsIn(stderr)).toEqual(["import", "start", "stop"]);
});

test("a process that is given a wrong input starts nothing", async () => {
  const call = runAppProcess("cli", ["call", "notes", "write", ...inApp, "--stdin", "--json"]);
  await call.end('{"id":"a"}');
  const { exitCode, stderr } = await call.ended;
  expect(exitCode).toBe(2);
  expect(eventsIn(stderr)).toEqual(["import"]);
});

test("SIGINT aborts the call, never calls cancel, and stops the application", async () => {
  const call = runAppProcess("cli", ["call", "notes", "wait", ...inApp, "--stdin", "--json"]);
  await call.end("{}");
  await call.printed("event: wait\n");
  call.kill("SIGINT");
  const { exitCode, stdout, stderr } = await call.ended;
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, ok: false, error: { code: "cancelled" } });
  expect(eventsIn(stderr)).toEqual(["import", "start", "wait", "wait aborted", "stop"]);
});
