import { beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JobAccepted } from "../../job-provider/index.ts";
import { jobHostFiles, jsonAnswer, testFolder, useDatabase } from "../testing/job-command-world.ts";

const input = testFolder();
const cli = fileURLToPath(new URL("cli.ts", import.meta.url));

beforeAll(async () => {
  await useDatabase();
  writeFileSync(join(input, "a.txt"), "alpha");
}, 60_000);

/** A command in a process of its own. */
function start(args: readonly string[]) {
  const command = [process.execPath, cli, ...args, ...jobHostFiles];
  const child = Bun.spawn(command, { env: process.env, stdout: "pipe", stderr: "pipe" });
  let [out, err] = ["", ""];
  let look = (): void => undefined;
  const read = async (stream: ReadableStream<Uint8Array>, keep: (text: string) => void): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      keep(decoder.decode(bytes, { stream: true }));
      look();
    }
  };
  const reading = Promise.all([
    read(child.stdout, (text) => void (out += text)),
    read(child.stderr, (text) => void (err += text)),
  ]);
  return {
    printed: (wanted: string) =>
      new Promise<void>((resolve, reject) => {
        look = () => void ((out + err).includes(wanted) && resolve());
        look();
        void reading.then(() => reject(new Error(`it ended without printing ${wanted}:\n${err}`)));
      }),
    /** What it had printed when it ended by this signal. */
    async end(signal: "SIGINT" | "SIGTERM") {
      child.kill(signal);
      await reading;
      return { exitCode: await child.exited, out, err };
    },
  };
}

test("SIGINT ends a watch and leaves the job alone; SIGTERM ends a worker whatever its provider left running, and its job goes on elsewhere", async () => {
  const args = ["submit", "--provider", "restart", "--files", input, "--key", "held", "--stdin"];
  const { data } = await jsonAnswer<JobAccepted>(args, { stdin: '{"ending":"linger"}' });
  const { jobId } = data.reference;
  const watch = start(["watch", jobId]);
  await watch.printed("1 queued\n");
  const worker = start(["worker", "--drain", "0"]);
  await watch.printed(" info 1 files");
  const watched = await watch.end("SIGINT");
  expect(watched).toMatchObject({ exitCode: 1, out: "1 queued\n2 running\n" });
  expect(watched.err).toContain("the job goes on: watch it again with --after 2\n");
  expect(await jsonAnswer(["get", jobId])).toMatchObject({ data: { state: "running" } });
  expect(await worker.end("SIGTERM")).toMatchObject({ exitCode: 0, out: "stopped\n" });
  expect(await jsonAnswer(["get", jobId])).toMatchObject({ data: { state: "queued" } });
}, 60_000);

test("a watch whose reader has gone ends by itself, without a trace", async () => {
  const args = ["submit", "--provider", "restart", "--files", input, "--key", "unread"];
  const { jobId } = (await jsonAnswer<JobAccepted>(args)).data.reference;
  // head ends with the first line; whatever is written after that has no reader.
  const script = `"$@" | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const command = [process.execPath, cli, "watch", jobId, "--json", ...jobHostFiles];
  const shell = Bun.spawn(["bash", "-c", script, "bash", ...command], {
    env: process.env,
    stdout: "pipe",
    stderr: "pipe",
  });
  const reader = shell.stdout.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  expect(JSON.parse(first)).toMatchObject({ data: { type: "event", event: { revision: 1 } } });
  const worker = start(["worker", "--concurrency", "2", "--drain", "0"]); // an event, a line of the log, progress, and the end
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toBe("1\n");
  expect(await new Response(shell.stderr).text()).toBe("");
  await worker.end("SIGTERM");
}, 60_000);
