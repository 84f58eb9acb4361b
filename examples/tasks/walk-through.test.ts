import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeBlockAfter } from "../../tests/support/code-blocks.ts";
import { root } from "../../tests/support/repository-files.ts";

const page = readFileSync(join(import.meta.dir, "README.md"), "utf8");
const localEnv = join(import.meta.dir, "local.env");
const background: ReturnType<typeof startShell>[] = [];

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
  const terminal = startTerminal();
  background.push(terminal);
  const first = await terminal.paste(["set up", "inspect", "cancel"]);
  expect(first).toContain('"name":"submit"');
  expect(first).toContain('"data":{"state":"pending","attempt":0,"maxAttempts":5,"cancelRequested":false}');
  expect(first).toContain('"data":{"outcome":"cancelled"}');
  expect(first).toContain('"data":{"retried":false}');

  const worker = startBlock("worker");
  background.push(worker);
  await worker.printed("SIGTERM or Ctrl-C drains");
  expect(await terminal.paste(["report"])).toContain('"sum":121250');
  await worker.printed("april [####################] 2/2 rows");
  worker.child.kill("SIGTERM");
  await worker.printed('"msg":"stopped"');
}, 90_000);

function block(name: string): string {
  const code = codeBlockAfter(page, `<!-- walk: ${name} -->`, "sh");
  if (code === undefined) throw new Error(`README.md has no block "${name}"`);
  return code;
}

/** A shell that stays: what one block exports, the next one has. A command that fails ends it. */
function startTerminal() {
  const terminal = startShell(["bash", "-eo", "pipefail"], "pipe");
  let pasted = 0;
  return {
    ...terminal,
    /** What the blocks print. */
    async paste(names: readonly string[]): Promise<string> {
      const from = terminal.text().length;
      pasted += 1;
      // Braces, so that no command reads what is to be run next; and what they print shows that all of it was.
      const script = `{\n${names.map(block).join("\n")}\n} </dev/null\necho "pasted ${pasted}"\n`;
      await terminal.child.stdin?.write(script);
      await terminal.child.stdin?.flush();
      await terminal.printed(`pasted ${pasted}\n`);
      return terminal.text().slice(from);
    },
  };
}

/** A block that goes on until it is told to stop; `exec`, so that the signal reaches it and not its shell. */
function startBlock(name: string) {
  const lines = block(name).trim().split("\n");
  const script = [...lines.slice(0, -1), `exec ${lines.at(-1) ?? ""}`].join("\n");
  return startShell(["bash", "-ec", script], "ignore");
}

function startShell(command: string[], stdin: "pipe" | "ignore") {
  const child = Bun.spawn(command, { cwd: root, env: withBun(), stdin, stdout: "pipe", stderr: "pipe" });
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
    text: () => text,
    printed: (wanted: string) =>
      new Promise<void>((resolve, reject) => {
        const look = (): void => void (text.includes(wanted) && resolve());
        looks.add(look);
        look();
        void reading.then(() => reject(new Error(`it ended without printing ${wanted}:\n${text}`)));
      }),
  };
}

function withBun(): Record<string, string | undefined> {
  const { DATABASE_URL: _url, TASK_SESSION: _session, ...env } = process.env;
  return { ...env, PATH: `${join(root, "node_modules/.bin")}:${env["PATH"] ?? ""}` };
}
