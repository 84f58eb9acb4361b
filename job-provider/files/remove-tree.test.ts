import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { openAnchoredFolder } from "./anchored-folder.ts";
import { removeTree } from "./remove-tree.ts";
import { startChild } from "./testing/child.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

test("a file, a whole tree, and nothing at all are removed alike, and what is beside stays", async () => {
  await using folder = await temporaryFolder();
  await mkdir(folder.at("tree/a/b"), { recursive: true });
  await mkdir(folder.at("tree/c"));
  for (const path of ["file", "stays", "tree/x", "tree/a/x", "tree/a/b/x"])
    await writeFile(folder.at(path), path);
  await using parent = await openAnchoredFolder(folder.path);
  for (const name of ["file", "tree", "none"]) await removeTree(parent, name);
  expect(await readdir(folder.path)).toEqual(["stays"]);
});

test("a folder that is filled again whenever it is empty is told, after a bounded number of tries", async () => {
  await using folder = await temporaryFolder();
  await using parent = await openAnchoredFolder(folder.path);
  let fillings = 0;
  const filled = {
    ...parent,
    at: (name: string | Buffer) => {
      mkdirSync(folder.at("tree"), { recursive: true });
      writeFileSync(folder.at("tree", "again"), "");
      fillings += 1;
      return parent.at(name);
    },
  };
  expect(await fileErrorOf(removeTree(filled, "tree"))).toBe(
    'failed: "tree" cannot be removed: something writes in it, end that first',
  );
  expect(fillings).toBeLessThan(100);
  await removeTree(parent, "tree");
  expect(existsSync(folder.at("tree"))).toBe(false);
});

test("for a user who counts: folders closed to their own user are removed, and a close that may not remove works when it may", async () => {
  await using child = startChild("unprivileged-closer.ts", {});
  expect(await child.line()).toMatch(/^no_permission: "[0-9a-f]{64}" cannot be removed: .*\(EACCES\)$/);
  expect(await child.line()).toBe("left: none");
  await child.done();
});
