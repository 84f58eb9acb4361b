import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeBlockAfter } from "../../tests/support/code-blocks.ts";
import { root } from "../../tests/support/repository-files.ts";

const page = readFileSync(join(import.meta.dir, "README.md"), "utf8");
const localEnv = join(import.meta.dir, "local.env");
const background: ReturnType<typeof startBlock>[] = [];

beforeAll(async () => {
  const database = startBlock("database");
  background.push(database);
  await database.printed("source examples/tasks/local.env");
}, 60_000);

afterAll(async () => {
  for (const { child } of background.reverse()) {
    child.kill("SIGTERM");
    await child.exited;
  }
  expect(existsSync(localEnv)).toBe(false);
}, 30_000);

test("the README's commands do what it says, from the first to the last", async () => {
  const first = await runBlocks(["set up", "inspect", "cancel"]);
  expect(first).toContain('"name":"submit"');
  expect(first).toContain('"data":{"state":"pending","attempt":0,"maxAttempts":5,"cancelRequested":false}');
  expect(first).toContain('"data":{"outcome":"cancelled"}');
  expect(first).toContain('"data":{"retried":false}');

  const worker = startBlock("worker");
  background.push(worker);
  await worker.printed("SIGTERM or Ctrl-C drains");
  const second = await runBlocks(["set up", "report"]);
  expect(second).toContain('"sum":121250');
  await worker.printed("april [####################] 2/2 rows");
  worker.child.kill("SIGTERM");
  await worker.printed('"msg":"stopped"');
}, 90_000);

function block(name: string): string {
  const code = codeBlockAfter(page, `<!-- walk: ${name} -->`, "sh");
  if (code === undefined) throw new Error(`README.md has no block "${name}"`);
  return code;
}

/** Blocks that end, one after the other in one shell, as they would be pasted. */
async function runBlocks(names: readonly string[]): Promise<string> {
  const child = Bun.spawn(["bash", "-eo", "pipefail", "-c", names.map(block).join("\n")], {
    cwd: root,
    env: withBun(),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`${names.join(", ")} ended with ${exitCode}:\n${output}\n${errors}`);
  return output;
}

/** A block that goes on until it is told to stop; `exec`, so that the signal reaches it and not its shell. */
function startBlock(name: string) {
  const lines = block(name).trim().split("\n");
  const script = [...lines.slice(0, -1), `exec ${lines.at(-1) ?? ""}`].join("\n");
  const child = Bun.spawn(["bash", "-ec", script], {
    cwd: root,
    env: withBun(),
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  const looks = new Set<() => void>();
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true });
      for (const look of looks) look();
    }
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  return {
    child,
    printed: (wanted: string) =>
      new Promise<void>((resolve, reject) => {
        const look = (): void => void (text.includes(wanted) && resolve());
        looks.add(look);
        look();
        void reading.then(() => reject(new Error(`"${name}" ended without printing ${wanted}:\n${text}`)));
      }),
  };
}

function withBun(): Record<string, string | undefined> {
  const { DATABASE_URL: _url, TASK_SESSION: _session, ...env } = process.env;
  return { ...env, PATH: `${join(root, "node_modules/.bin")}:${env["PATH"] ?? ""}` };
}
