import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { treeDigest } from "../tree/tree-digest.ts";
import { openAttemptWorkspace } from "./open-attempt-workspace.ts";
import { sealDirectory } from "./seal-directory.ts";
import { startChild } from "./testing/child.ts";
import { filesOf } from "./testing/content-of.ts";
import { givenWorkspace } from "./testing/given-workspace.ts";

const isLong = process.env.JOB_PROVIDER_LONG === "1";

test(
  "a large file goes through a workspace and a store in constant memory",
  async () => {
    const mebibytes = isLong ? 1_024 : 256;
    await using child = startChild("memory-meter.ts", { mebibytes });
    const { length, grownMebibytes } = JSON.parse(await child.line());
    await child.done();
    expect(length).toBe(mebibytes * 1_048_576);
    expect(grownMebibytes).toBeLessThan(96);
  },
  isLong ? 300_000 : 60_000,
);

test("ten thousand files are sealed, laid out, listed and removed", async () => {
  await using scene = await givenWorkspace();
  const tree = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [
      `/part-${index % 50}/file-${index}`,
      `content ${index % 40}`,
    ]),
  );
  const files = filesOf(tree);
  const revision = await scene.revisions.seal({ workspaceId: "w", files });
  expect(revision.treeDigest).toBe(treeDigest(files));
  const attempt = await openAttemptWorkspace({
    ...scene.options,
    attemptId: "2",
    input: { revision, paths: Object.keys(tree) },
  });
  expect((await attempt.files.list()).map(({ path }) => `/${path}`)).toEqual(Object.keys(tree).sort());
  if (isLong)
    expect(await sealDirectory(scene.revisions, { workspaceId: "w", directory: attempt.files.path })).toEqual(
      revision,
    );
  await attempt.close();
  expect(await readdir(scene.folder.at("attempts"))).toHaveLength(1);
}, 60_000);
