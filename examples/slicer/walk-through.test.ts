import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWalkThrough, type WalkProgram } from "../../tests/support/walk-through.ts";

const page = readFileSync(join(import.meta.dir, "README.md"), "utf8");
const localEnv = join(import.meta.dir, "local.env");
const data = mkdtempSync(join(tmpdir(), "slicer-walk-"));
const { startBlock, startTerminal } = openWalkThrough(page, { DATABASE_URL: undefined, SLICER_DATA: data });
const background: WalkProgram[] = [];

beforeAll(async () => {
  const database = startBlock("database");
  background.push(database);
  await database.printed("source examples/slicer/local.env");
}, 60_000);

afterAll(async () => {
  for (const { child } of background.reverse()) {
    child.kill("SIGTERM");
    await child.exited;
  }
  rmSync(data, { recursive: true, force: true });
  expect(existsSync(localEnv)).toBe(false);
}, 60_000);

test("the README's commands do what it says, and a killed worker's job has the same bytes as another", async () => {
  const terminal = startTerminal();
  background.push(terminal);
  const submitted = await terminal.paste(["set up", "submit"]);
  expect(submitted).toContain("slicer could work, with 1 provider\n");
  expect(submitted).toMatch(/^accepted before$/m);

  const first = startBlock("worker");
  background.push(first);
  expect(await terminal.paste(["kill"])).toContain('"state": "running"');
  expect(await first.child.exited).not.toBe(0);

  const second = startBlock("worker");
  background.push(second);
  const watched = await terminal.paste(["watch"]);
  expect(watched).toMatch(
    /^1 queued$[^]*^2 running$[^]*^3 waiting$[^]*^4 queued$[^]*^5 running$[^]*^6 completed$/m,
  );
  expect(watched).toMatch(/ info going on at layer \d+ of 300$/m);
  expect(await terminal.paste(["compare"])).toContain("\nthe same bytes\n");
  expect(await terminal.paste(["query"])).toContain('"data":{"layer":150,"z":0.05,"outlines":[[[');

  second.child.kill("SIGTERM");
  await second.printed("stopped");
}, 240_000);
