import { expect, test } from "bun:test";
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { openAttemptWorkspace } from "./open-attempt-workspace.ts";
import { sweepAttemptWorkspaces } from "./sweep-attempt-workspaces.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { givenWorkspace } from "./testing/given-workspace.ts";

test("workspaces that are old and not kept are removed, and nothing else", async () => {
  await using scene = await givenWorkspace({ input: { "/a": "x" } });
  const directory = scene.folder.at("attempts");
  const age = async (): Promise<void> => {
    const dayAndHour = new Date(Date.now() - 25 * 3_600_000);
    for (const name of await readdir(directory)) await utimes(`${directory}/${name}`, dayAndHour, dayAndHour);
  };
  const left = await openAttemptWorkspace({ ...scene.options, attemptId: "left" });
  await left.files.write("b/c", "rubbish of a dead process");
  await mkdir(`${directory}/somebody's`);
  await writeFile(`${directory}/${"0".repeat(64)}`, "no workspace");
  await age();
  await using young = await openAttemptWorkspace({ ...scene.options, attemptId: "young" });
  const keep = [scene.options];
  expect(await sweepAttemptWorkspaces({ directory, keep })).toBe(1);
  expect(await readdir(directory)).toHaveLength(4);
  expect([await scene.files.list(), await young.files.list()]).toEqual([
    [{ path: "a", length: 1 }],
    [{ path: "a", length: 1 }],
  ]);
  expect(
    await sweepAttemptWorkspaces({
      directory,
      keep: [...keep, { ...scene.options, attemptId: "young" }],
      olderThanMs: 0,
    }),
  ).toBe(0);
  expect(await sweepAttemptWorkspaces({ directory, keep, olderThanMs: 0 })).toBe(1);
  await left.close();
  await expect(sweepAttemptWorkspaces({ directory, keep, olderThanMs: -1 })).rejects.toThrow("olderThanMs");
  expect(await fileErrorOf(sweepAttemptWorkspaces({ directory: scene.folder.at("none"), keep }))).toStartWith(
    "not_found",
  );
});
