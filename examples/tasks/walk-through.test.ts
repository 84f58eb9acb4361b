import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openWalkThrough, type WalkProgram } from "../../tests/support/walk-through.ts";

const page = readFileSync(join(import.meta.dir, "README.md"), "utf8");
const localEnv = join(import.meta.dir, "local.env");
const { startBlock, startTerminal } = openWalkThrough(page, {
  DATABASE_URL: undefined,
  TASK_SESSION: undefined,
});
const background: WalkProgram[] = [];

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
