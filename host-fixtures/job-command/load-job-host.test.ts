import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { jobHostFiles, runCommand, testFolder } from "../testing/job-command-world.ts";

const [, composition = "", , module = ""] = jobHostFiles;

/** Runs a command on a composition and a module of these texts. `host` in the module is the small job host's. */
async function listWith({ source, host }: { readonly source?: string; readonly host?: string }) {
  const folder = testFolder();
  const files = { jobs: module, composition };
  if (source !== undefined) {
    files.jobs = join(folder, "job-host.ts");
    writeFileSync(
      files.jobs,
      `import * as host from ${JSON.stringify(module)};\n${source}\nexport { host };\n`,
    );
  }
  if (host !== undefined) {
    files.composition = join(folder, "host.json");
    writeFileSync(files.composition, host);
  }
  return runCommand(["list", "--composition", files.composition, "--jobs", files.jobs]);
}

const secret = ["CANARY", "secret"].join("-");
const rest = "export const { plugins, instance, jobHostOptions } = host;";

test.each<[string, { readonly source?: string; readonly host?: string }, string]>([
  [
    "no plugins",
    { source: "export const { instance, jobHostOptions } = host;" },
    "config-invalid: the module of --jobs: plugins: expected",
  ],
  [
    "no instance",
    { source: "export const { plugins, jobHostOptions } = host;" },
    "config-invalid: the module of --jobs: instance: expected",
  ],
  [
    "no options",
    { source: "export const { plugins, instance } = host;" },
    "jobHostOptions: expected a function",
  ],
  [
    "an instance that is not composed",
    { source: 'export const { plugins, jobHostOptions } = host; export const instance = "other";' },
    "has no Instance of this key",
  ],
  [
    "an instance without jobs",
    { source: 'export const { plugins, jobHostOptions } = host; export const instance = "jobs";' },
    "bound to a provider of lenso.jobs@1",
  ],
  [
    "a module that throws",
    { source: `throw new Error("postgres://app:${secret}@db/x");` },
    "config-failed: the module of --jobs: Error: postgres://[hidden]",
  ],
  [
    "options that throw",
    {
      source: `export const { plugins, instance } = host; export function jobHostOptions() { throw new Error("password=${secret}"); }`,
    },
    "config-failed",
  ],
  [
    "options that do not hold",
    {
      source: `export const { plugins, instance } = host; export const jobHostOptions = () => ({ hostId: "x", database: { connectionString: "${secret}" } });`,
    },
    "invalid-options: job host: an option is not valid: database.connectionString",
  ],
  ["a composition that is no JSON", { source: rest, host: secret }, "the composition: not JSON\n"],
  [
    "a composition with an unknown plugin",
    { source: rest, host: '{"instances":{"a":{"plugin":"none"}},"bindings":[]}' },
    'no plugin "none"',
  ],
])(
  "a host that cannot be loaded is told with exit code 3, and no secret: %s",
  async (_name, files, expected) => {
    const { exitCode, out, err } = await listWith(files);
    expect({ exitCode, out }).toEqual({ exitCode: 3, out: "" });
    expect(err).toContain(expected);
    expect(err).not.toContain("CANARY");
  },
);

test("files that are not there are told with exit code 3", async () => {
  for (const args of [
    ["--composition", "none.json", "--jobs", module],
    ["--composition", composition, "--jobs", "none.ts"],
  ])
    expect(await runCommand(["check", ...args])).toMatchObject({
      exitCode: 3,
      err: expect.stringContaining("file-not-found"),
    });
});
