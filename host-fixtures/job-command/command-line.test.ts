import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JobPage } from "../../job-provider/host/index.ts";
import type {
  JobAccepted,
  JobProjectionEvent,
  JobPublishedArtifact,
  JobSnapshot,
} from "../../job-provider/index.ts";
import { setup } from "../../plugin/operator/index.ts";
import {
  type Envelope,
  jobHostFiles,
  jsonAnswer,
  jsonAnswers,
  runCommand,
  testFolder,
  useDatabase,
} from "../testing/job-command-world.ts";

const input = testFolder();
let keys = 0;
/** Jobs that have ended, one each way. */
let [completed, failed] = ["", ""];

beforeAll(async () => {
  await useDatabase();
  writeFileSync(join(input, "a.txt"), "alpha\nbeta\n");
  mkdirSync(join(input, "b"));
  writeFileSync(join(input, "b", "c.txt"), "charlie");
  completed = await submit();
  failed = await submit({ ending: "throw" });
  await whileWorking(() => Promise.all([completed, failed].map((jobId) => jsonAnswers(["watch", jobId]))));
}, 60_000);

interface Asked {
  readonly provider?: "restart" | "reconcile";
  readonly ending?: "throw" | "hold";
}

async function submit({ provider = "restart", ...configuration }: Asked = {}): Promise<string> {
  keys += 1;
  const args = ["submit", "--provider", provider, "--files", input, "--key", `key-${keys}`, "--stdin"];
  const { data } = await jsonAnswer<JobAccepted>(args, { stdin: JSON.stringify(configuration) });
  return data.reference.jobId;
}

/** What an envelope of a watch tells. */
interface Told {
  readonly type: "event" | "log" | "progress";
  readonly event?: JobProjectionEvent;
}

/** Runs a worker in this process while the work goes on. */
async function whileWorking<T>(work: () => Promise<T>, drain = "0"): Promise<T> {
  const stopping = new AbortController();
  const args = ["worker", "--concurrency", "4", "--drain", drain];
  const worker = jsonAnswer(args, { signal: stopping.signal });
  try {
    return await work();
  } finally {
    stopping.abort();
    expect(await worker).toMatchObject({ exitCode: 0, data: { stopped: true } });
  }
}

/** Watches a job until its provider has written a line, and leaves it there. Running it may be before that. */
async function untilAtWork(jobId: string): Promise<void> {
  const enough = new AbortController();
  await jsonAnswers(["watch", jobId], {
    signal: enough.signal,
    onOutput: (text) => void (text.includes('"type":"log"') && enough.abort()),
  });
}

const refused = (exitCode: number, code: unknown, message: unknown = expect.any(String)): Envelope =>
  ({
    exitCode,
    schemaVersion: 1,
    ok: false,
    error: { code: code as string, message: message as string },
  }) as Envelope;

test("a folder becomes a job, which is worked, followed and downloaded", async () => {
  const jobId = await submit();
  expect(await jsonAnswer(["get", jobId])).toMatchObject({
    data: {
      revision: 1,
      state: "queued",
      input: { paths: ["/a.txt", "/b/c.txt"] },
      configuration: { value: { unit: "bytes", ending: "end" } },
      code: null,
      isProviderHosted: true,
      attempts: 0,
      maxAttempts: 3,
      leaseUntil: null,
    },
  });
  const answers = await whileWorking(() => jsonAnswers<Told>(["watch", jobId]));
  const ofType = (type: string): unknown[] =>
    answers.filter(({ data }) => data.type === type).map(({ data }) => data);
  expect(answers.every(({ exitCode, ok }) => exitCode === 0 && ok)).toBe(true);
  expect(ofType("event")).toMatchObject([
    { event: { revision: 1, type: "job-accepted" } },
    { event: { revision: 2, state: "running" } },
    { event: { revision: 3, state: "completed" } },
  ]);
  expect(ofType("log")).toMatchObject([{ line: { ordinal: 1, level: "info" } }]);
  expect(ofType("progress").at(-1)).toMatchObject({ update: { phase: "count", completed: 2, total: 2 } });
  expect(await jsonAnswer(["result", jobId])).toMatchObject({
    data: { state: "completed", value: { count: 18 } },
  });
  const to = join(testFolder(), "new", "folder");
  const { data } = await jsonAnswer(["artifacts", jobId, "--to", to]);
  expect(data).toMatchObject([{ role: "count", path: "out/count.txt", length: 2 }]);
  expect(readFileSync(join(to, "out/count.txt"), "utf8")).toBe("18");
  expect(readdirSync(to)).toEqual(["out"]);
}, 30_000);

test("a person sees lines, without what could move a terminal's cursor", async () => {
  const { exitCode, out, err } = await runCommand(["watch", completed, ...jobHostFiles]);
  expect({ exitCode, out }).toEqual({ exitCode: 0, out: "1 queued\n2 running\n3 completed\n" });
  expect(err).toMatch(/^\[#{24}\] count 2\/2$/m);
  expect(err).toMatch(/ info 2 files\uFFFD\[31m$/m);
  const { out: listed } = await runCommand(["list", "--state", "completed", ...jobHostFiles]);
  expect(listed).toContain(`${completed} `);
});

test("a watch goes on after the revision and the line that were seen last", async () => {
  const again = await jsonAnswers<Told>(["watch", completed, "--after", "2", "--logs-after", "1"]);
  const seen = again.filter(({ data }) => data.type !== "progress");
  expect(seen.map(({ data }) => data.event?.revision)).toEqual([3]);
});

test("giving up a watch leaves the job alone, and says where to go on", async () => {
  const jobId = await submit();
  const enough = new AbortController();
  const answers = await jsonAnswers(["watch", jobId], {
    signal: enough.signal,
    onOutput: () => enough.abort(),
  });
  expect(answers.at(-1)).toEqual(refused(1, "cancelled", expect.stringContaining("--after 1")));
  expect(await jsonAnswer(["get", jobId])).toMatchObject({ data: { revision: 1, state: "queued" } });
  await jsonAnswer(["cancel", jobId]);
});

test("a job that fails ends its watch with exit code 1 and the code, never with what the provider threw", async () => {
  const { exitCode, out, err } = await runCommand(["watch", failed, ...jobHostFiles]);
  expect(exitCode).toBe(1);
  expect(err).toContain("job-failed: the job has failed: PROVIDER_EXECUTION_FAILED");
  expect(out + err).not.toContain("CANARY");
});

test("a worker says in one line of standard error which job failed and what its provider threw", async () => {
  const jobId = await submit({ ending: "throw" });
  const stopping = new AbortController();
  const { out, err } = await runCommand(["worker", "--drain", "0", ...jobHostFiles], {
    signal: stopping.signal,
    onOutput: (text) => void (text.includes("\ntrouble: ") && stopping.abort()),
  });
  const words = ["CANARY", "thrown"].join("-");
  const lines = err.split("\n").filter((line) => line.startsWith("trouble: "));
  expect(lines).toEqual([
    `trouble: JobProviderFailure: PROVIDER_EXECUTION_FAILED, provider restart, attempt 1.1 of job ${jobId}: Error: ${words}`,
  ]);
  expect(out).toBe("stopped\n");
}, 30_000);

test("the same submission again is the same job, and another one under its key is refused", async () => {
  const args = ["submit", "--provider", "restart", "--files", input, "--key", "twice"];
  const first = await jsonAnswer<JobAccepted>(args);
  expect(first).toMatchObject({ exitCode: 0, data: { status: "accepted", deduplicated: false } });
  const { reference } = first.data;
  expect(await jsonAnswer(args)).toMatchObject({ exitCode: 0, data: { reference, deduplicated: true } });
  // The id alone, so that a shell's variable may be set by it again.
  const shown = await runCommand([...args, ...jobHostFiles]);
  expect(shown).toEqual({ exitCode: 0, out: `${reference.jobId}\n`, err: "accepted before\n" });
  await jsonAnswer(["cancel", reference.jobId]);
});

test("a taken key is told with its job and with what differs, so that nobody has the work done twice", async () => {
  const args = ["submit", "--provider", "restart", "--files", input, "--key", "taken"];
  const { data } = await jsonAnswer<JobAccepted>(args);
  const { jobId } = data.reference;
  const { data: job } = await jsonAnswer<JobSnapshot>(["get", jobId]);
  const conflict = (what: string): Envelope =>
    refused(
      2,
      "SUBMISSION_KEY_CONFLICT",
      `there is a job under this key, ${jobId}, which has another ${what}: look at it (get ${jobId}) before you take another key, which makes a second job`,
    );
  expect(await jsonAnswer([...args, "--path", "/a.txt"])).toEqual(conflict("input"));
  const lines = { stdin: '{"unit":"lines"}' };
  expect(await jsonAnswer([...args, "--stdin"], lines)).toEqual(conflict("configuration"));
  const both = [...args, "--path", "/a.txt", "--stdin"];
  expect(await jsonAnswer(both, lines)).toEqual(conflict("input and another configuration"));
  const stdin = JSON.stringify({
    provider: { ...job.provider, version: "0.9.0" },
    input: job.input,
    configuration: { value: {}, explicitPointers: [] },
    submissionKey: "taken",
  });
  expect(await jsonAnswer(["submit", "--stdin"], { stdin })).toEqual(conflict("provider version"));
  await jsonAnswer(["cancel", jobId]);
});

test("a saved request is the same request when it is sent again, and its file is never replaced", async () => {
  const file = join(testFolder(), "request.json");
  const args = ["submit", "--provider", "restart", "--files", input, "--key", "saved", "--save", file];
  const { data: first } = await jsonAnswer<JobAccepted>(args);
  const saved = readFileSync(file, "utf8");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dirname(file))).toEqual(["request.json"]);
  const again = { exitCode: 0, data: { reference: first.reference, deduplicated: true } };
  expect(await jsonAnswer(args)).toMatchObject(again);
  expect(await jsonAnswer(["submit", "--request", file])).toMatchObject(again);
  const other = [...args, "--path", "/a.txt"];
  expect(await jsonAnswer(other)).toEqual(refused(2, "file-exists", expect.stringContaining("--request")));
  expect(readFileSync(file, "utf8")).toBe(saved);
  const nowhere = args.with(-1, join(file, "x"));
  expect(await jsonAnswer(nowhere)).toEqual(refused(1, "not-saved"));
  await jsonAnswer(["cancel", first.reference.jobId]);
});

test("a whole request is submitted as it is", async () => {
  const { data: job } = await jsonAnswer<JobSnapshot>(["get", await submit()]);
  const request = {
    provider: job.provider,
    input: { revision: job.input.revision, paths: ["/b/c.txt"] },
    configuration: { value: {}, explicitPointers: [] },
    submissionKey: "whole",
  };
  const file = join(testFolder(), "request.json");
  writeFileSync(file, JSON.stringify(request));
  const { data } = await jsonAnswer<JobAccepted>(["submit", "--input", file]);
  expect(await jsonAnswer(["get", data.reference.jobId])).toMatchObject({ data: { input: request.input } });
  const stdin = JSON.stringify({
    ...request,
    submissionKey: "changed",
    provider: { ...job.provider, manifestDigest: job.configuration.digest },
  });
  expect(await jsonAnswer(["submit", "--stdin"], { stdin })).toEqual(refused(2, "PROVIDER_MANIFEST_CHANGED"));
});

test("cancelling a job that runs ends its attempt, and cancelling again is fine", async () => {
  const jobId = await submit({ ending: "hold" });
  await whileWorking(async () => {
    await untilAtWork(jobId);
    expect(await jsonAnswer(["cancel", jobId])).toMatchObject({ exitCode: 0, data: { revision: 3 } });
    expect((await jsonAnswers(["watch", jobId])).at(-1)).toEqual(refused(1, "job-cancelled"));
  }, "60"); // longer than the test may take: the attempt ends by the cancellation alone
  expect(await jsonAnswer(["cancel", jobId])).toMatchObject({ exitCode: 0, data: { revision: 3 } });
}, 30_000);

test("a job that asks for attention ends as the person decides, about the revision that was seen", async () => {
  const stopped = await Promise.all(
    [0, 1, 2, 3].map(() => submit({ provider: "reconcile", ending: "hold" })),
  );
  await whileWorking(() => Promise.all(stopped.map((jobId) => untilAtWork(jobId))));
  const [done = "", given = "", dropped = "", again = ""] = stopped;
  expect(await jsonAnswer(["result", done])).toMatchObject({
    data: { state: "attention_required", code: "ATTEMPT_LOST" },
  });
  const resolve = (jobId: string, action: string, revision: number, stdin?: string): Promise<Envelope> => {
    const args = ["resolve", jobId, action, "--revision", String(revision)];
    return jsonAnswer(
      stdin === undefined ? args : [...args, "--stdin"],
      stdin === undefined ? {} : { stdin },
    );
  };
  expect(await resolve(done, "fail", 2)).toEqual(refused(1, "REVISION_MISMATCH"));
  expect(await resolve(done, "complete", 3)).toEqual(refused(2, "invalid-usage"));
  const secret = ["CANARY", "result"].join("-");
  const invalid = await resolve(done, "complete", 3, JSON.stringify({ count: secret }));
  expect(invalid).toEqual(refused(2, "RESULT_INVALID", expect.stringContaining('at "/count"')));
  expect(JSON.stringify(invalid)).not.toContain("CANARY");
  expect(await resolve(done, "complete", 3, '{"count":7}')).toMatchObject({ data: { revision: 4 } });
  expect(await resolve(given, "fail", 3)).toMatchObject({ exitCode: 0 });
  expect(await resolve(dropped, "cancel", 3)).toMatchObject({ exitCode: 0 });
  expect(await resolve(again, "requeue", 3)).toMatchObject({ exitCode: 0 });
  expect(await resolve(given, "requeue", 4)).toEqual(refused(1, "JOB_TERMINAL"));
  const states = await Promise.all(stopped.map((jobId) => jsonAnswer<JobSnapshot>(["get", jobId])));
  expect(states.map(({ data }) => data.state)).toEqual(["completed", "failed", "cancelled", "queued"]);
  await jsonAnswer(["cancel", again]);
}, 60_000);

test("a provider answers queries and commands, a command once for each id", async () => {
  const jobId = await submit();
  const query = ["query", jobId, "echo", "--stdin"];
  expect(await jsonAnswer(query, { stdin: '{"text":"hello"}' })).toMatchObject({
    exitCode: 0,
    data: { text: "hello", state: "queued" },
  });
  const secret = ["CANARY", "input"].join("-");
  const invalid = await jsonAnswer(query, { stdin: JSON.stringify({ text: 5, [secret]: 1 }) });
  expect(invalid).toMatchObject({ exitCode: 2, error: { code: "INPUT_INVALID" } });
  const command = (id: string): Promise<Envelope> =>
    jsonAnswer(["command", jobId, "number", "--id", id, "--revision", "1", "--stdin"], { stdin: "{}" });
  const first = await command("a");
  expect(await command("a")).toEqual(first);
  expect((await command("b")).data).not.toBe(first.data);
  const unknown = ["query", jobId, "toString"];
  expect(await jsonAnswer(unknown)).toEqual(refused(3, "OPERATION_NOT_FOUND"));
  await jsonAnswer(["cancel", jobId]);
});

test("lists go on where the page before ended", async () => {
  const first = await jsonAnswer<JobPage>(["list", "--limit", "1", "--provider", "restart"]);
  const second = await jsonAnswer<JobPage>([
    "list",
    "--limit",
    "1",
    "--provider",
    "restart",
    "--after",
    first.data.next ?? "none",
  ]);
  expect((second.data.jobs[0]?.reference.jobId ?? "") > (first.data.next ?? "none")).toBe(true);
});

test("a download replaces nothing, and names no file whose bytes are others than were published", async () => {
  expect(await jsonAnswer(["artifacts", completed, "--to", input])).toEqual(refused(2, "folder-not-empty"));
  const { data } = await jsonAnswer<readonly JobPublishedArtifact[]>(["artifacts", completed]);
  const hex = data[0]?.digest.slice("sha256:".length) ?? "";
  const stored = join(
    process.env["JOBS_TEST_FOLDER"] ?? "",
    "artifacts/sha256",
    hex.slice(0, 2),
    hex.slice(2),
  );
  const bytes = readFileSync(stored);
  await Bun.$`chmod u+w ${stored}`;
  writeFileSync(stored, "81");
  const to = testFolder();
  expect(await jsonAnswer(["artifacts", completed, "--to", to])).toEqual(refused(1, "content-mismatch"));
  expect(readdirSync(join(to, "out"))).toEqual([]);
  expect(readdirSync(to)).toEqual(["out"]);
  writeFileSync(stored, bytes);
}, 30_000);

test.each([["get"], ["result"], ["artifacts"], ["watch"], ["cancel"]])(
  "what is no job is not found: %s",
  async (command) => {
    expect(await jsonAnswer([command, "nobody"])).toEqual(
      refused(3, expect.stringMatching(/^(JOB_NOT_FOUND|job-not-found)$/)),
    );
  },
);

test.each<[string[], string, number, string]>([
  [[], "", 2, "invalid-usage"],
  [["frobnicate"], "", 2, "invalid-usage"],
  [["submit"], "", 2, "invalid-usage"],
  [["submit", "--stdin", "--input", "x"], "{}", 2, "invalid-usage"],
  [["submit", "--provider", "restart", "--files", input], "", 2, "invalid-usage"],
  [["submit", "--request", "x", "--key", "k"], "", 2, "invalid-usage"],
  [["submit", "--request", "/nowhere"], "", 2, "invalid-input"],
  [["submit", "--stdin"], '{"provider":', 2, "invalid-input"],
  [["submit", "--stdin"], "{}", 2, "invalid-input"],
  [["submit", "--provider", "toString", "--files", input, "--key", "k"], "", 3, "PROVIDER_NOT_FOUND"],
  [["submit", "--provider", "restart", "--files", input, "--key", ""], "", 2, "invalid-input"],
  [["submit", "--provider", "restart", "--files", "/nowhere", "--key", "k"], "", 2, "input-not-sealed"],
  [
    ["submit", "--provider", "restart", "--files", input, "--path", "/../x", "--key", "k"],
    "",
    2,
    "invalid-input",
  ],
  [
    ["submit", "--provider", "restart", "--files", input, "--path", "/none", "--key", "k"],
    "",
    2,
    "input-not-sealed",
  ],
  [
    ["submit", "--provider", "restart", "--files", input, "--key", "k", "--stdin"],
    '{"unit":"miles"}',
    2,
    "CONFIGURATION_INVALID",
  ],
  [["watch", "job", "--after", "-1"], "", 2, "invalid-usage"],
  [["worker", "--concurrency", "101"], "", 2, "invalid-usage"],
  [["resolve", "job", "explode", "--revision", "1"], "", 2, "invalid-usage"],
  [["resolve", "job", "fail", "--revision", "1", "--stdin"], "{}", 2, "invalid-usage"],
  [["command", "job", "number", "--id", "x"], "{}", 2, "invalid-usage"],
  [["get", ""], "", 2, "invalid-usage"],
  [["list", "--after", "nobody"], "", 2, "invalid-usage"],
])("what is asked wrongly is refused before anything starts: %j", async (args, stdin, exitCode, code) => {
  expect(await jsonAnswer(args, { stdin })).toEqual(refused(exitCode, code));
});

test.each([
  [["nonsense"], "unknown command; see jobs --help"],
  [["get"], "job: an argument is missing; see jobs COMMAND --help"],
  [
    ["command", "job", "number", "--id", "x"],
    "--revision <n>: a required option is missing; see jobs COMMAND --help",
  ],
])("wrong usage names what is missing, and nothing that was given: %j", async (args, said) => {
  expect(await jsonAnswer(args)).toEqual(refused(2, "invalid-usage", said));
});

test("an unknown key of a configuration is told as the value's own trouble, without its name", async () => {
  const args = ["submit", "--provider", "restart", "--files", input, "--key", "odd", "--stdin"];
  const { error } = await jsonAnswer(args, { stdin: '{"colour":"red"}' });
  expect(error?.code).toBe("CONFIGURATION_INVALID");
  expect(error?.message).toEndWith(", at the value itself, such as by a key that is not known");
});

test("a worker whose host has no records ends without having said that it works", async () => {
  const before = { ...process.env };
  try {
    const databaseUrl = await useDatabase("empty");
    expect(await setup({ databaseUrl, schema: "jobs" })).toMatchObject({ ok: true });
    const { exitCode, err } = await runCommand(["worker", ...jobHostFiles]);
    expect(exitCode).toBe(3);
    expect(err).toStartWith("schema-unfit: ");
  } finally {
    Object.assign(process.env, before);
  }
}, 30_000);

test("help is no failure", async () => {
  const { exitCode, out } = await runCommand(["--help"]);
  expect(exitCode).toBe(0);
  for (const command of ["submit", "watch", "resolve", "worker", "setup", "Exit codes:"])
    expect(out).toContain(command);
});

test("a database without the tables is told with exit code 3 and the next step, and setup makes those of the host", async () => {
  const before = { ...process.env };
  try {
    const url = await useDatabase("empty");
    expect(await jsonAnswer(["check"])).toEqual(
      refused(3, "start-failed", expect.stringContaining("lenso-jobs setup")),
    );
    const { exitCode, err } = await runCommand(["list", ...jobHostFiles]);
    expect(exitCode).toBe(3);
    expect(err).toStartWith("schema-unfit: job host: the schema of the host cannot be worked with: ");
    expect(err).toContain("jobs setup --runtime-role ROLE");
    expect(err).not.toMatch(/JobHostError|SchemaUnfit/);
    expect(await jsonAnswer(["setup"])).toMatchObject({ exitCode: 0, data: { schema: "job_host" } });
    expect(await jsonAnswer(["setup", "--runtime-role", "public"])).toEqual(refused(2, "invalid-options"));
    expect(await jsonAnswer(["list"])).toMatchObject({ exitCode: 0, data: { jobs: [], next: null } });
    expect(await setup({ databaseUrl: url, schema: "jobs" })).toMatchObject({ ok: true });
    expect(await jsonAnswer(["check"])).toMatchObject({
      exitCode: 0,
      data: { hostId: "counting", providers: [{ id: "restart", queries: ["echo"] }, { id: "reconcile" }] },
    });
  } finally {
    Object.assign(process.env, before);
  }
}, 30_000);
