import { expect, test } from "bun:test";
import { readdir, rm, truncate, writeFile } from "node:fs/promises";
import { JobContentMismatch } from "../ports/job-content.ts";
import { treeDigest } from "../tree/tree-digest.ts";
import { createFileRevisionStore } from "./create-file-revision-store.ts";
import { chunksOf, filesOf, textOf } from "./testing/content-of.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { filesBelow, temporaryFolder } from "./testing/temporary-folder.ts";

const files = filesOf({ "/b/c": "second", "/a": "first", "/d": "first", "/empty": "" });
const entries = files.map(({ path, length, digest }) => ({ path, length, digest }));

async function setup() {
  const folder = await temporaryFolder();
  const store = createFileRevisionStore({ directory: folder.at("store"), authorityId: "acme" });
  const at = (path: string): string => folder.at("store", path);
  return { folder, store, at, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

test("a sealed tree is listed, sorted, and its files are read", async () => {
  await using scene = await setup();
  const revision = await scene.store.seal({ workspaceId: "bridge", files });
  expect(revision).toEqual({
    authorityId: "acme",
    workspaceId: "bridge",
    revisionId: treeDigest(entries),
    treeDigest: treeDigest(entries),
  });
  expect(await scene.store.list(revision)).toEqual(entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)));
  for (const entry of entries) {
    const text = { "/b/c": "second", "/a": "first", "/d": "first", "/empty": "" }[entry.path];
    expect(await textOf(await scene.store.read(revision, entry))).toBe(text as string);
  }
  expect(await filesBelow(scene.at("sha256"))).toHaveLength(3); // equal contents are kept once
  expect(await readdir(scene.at("incoming"))).toEqual([]);
});

test("the same tree in the same workspace is the same revision, and in another one another", async () => {
  await using scene = await setup();
  const first = await scene.store.seal({ workspaceId: "bridge", files });
  expect(await scene.store.seal({ workspaceId: "bridge", files: files.toReversed() })).toEqual(first);
  const other = { ...first, workspaceId: "tower" };
  expect(await scene.store.list(other)).toBeUndefined();
  expect(await scene.store.seal({ workspaceId: "tower", files })).toEqual(other);
  expect(await filesBelow(scene.at("revisions"))).toHaveLength(2);
  const empty = await scene.store.seal({ workspaceId: "bridge", files: [] });
  expect(await scene.store.list(empty)).toEqual([]);
});

test("what another authority, workspace or id names is unknown, whatever the text", async () => {
  await using scene = await setup();
  const revision = await scene.store.seal({ workspaceId: "bridge", files });
  const [entry] = entries as [(typeof entries)[number]];
  for (const change of [
    { authorityId: "other" },
    { workspaceId: "../bridge" },
    { revisionId: "../../x" },
    { revisionId: `${revision.revisionId}/..` },
    { revisionId: "" },
  ]) {
    expect(await scene.store.list({ ...revision, ...change })).toBeUndefined();
    expect(await scene.store.read({ ...revision, ...change }, entry)).toBeUndefined();
  }
  const neighbour = createFileRevisionStore({ directory: scene.folder.at("store"), authorityId: "other" });
  expect(await neighbour.list({ ...revision, authorityId: "other" })).toBeUndefined();
  expect(await scene.store.list({ ...revision, treeDigest: "sha256:0" })).toHaveLength(4); // the host compares it
});

test("only a file of the very revision is read from it", async () => {
  await using scene = await setup();
  const revision = await scene.store.seal({ workspaceId: "bridge", files });
  const other = await scene.store.seal({ workspaceId: "bridge", files: filesOf({ "/a": "other" }) });
  const [second, first] = entries as [(typeof entries)[number], (typeof entries)[number]];
  expect(await scene.store.read(other, first)).toBeUndefined();
  for (const change of [{ path: "/none" }, { length: 7 }, { digest: second.digest }])
    expect(await scene.store.read(revision, { ...first, ...change })).toBeUndefined();
});

test("a file with other bytes, a path twice or an odd path leaves no revision", async () => {
  await using scene = await setup();
  const [first, second, third] = files as [
    (typeof files)[number],
    (typeof files)[number],
    (typeof files)[number],
  ];
  const wrong = {
    ...third,
    path: "/z",
    digest: second.digest.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    open: () => chunksOf(Buffer.from("first")),
  };
  await expect(scene.store.seal({ workspaceId: "bridge", files: [first, wrong] })).rejects.toBeInstanceOf(
    JobContentMismatch,
  );
  for (const odd of [[first, first], [{ ...first, path: "a" }], [{ ...first, path: "/../a" }]])
    await expect(scene.store.seal({ workspaceId: "bridge", files: odd })).rejects.toBeInstanceOf(TypeError);
  for (const workspaceId of ["", "x".repeat(257), "\uD800"])
    await expect(scene.store.seal({ workspaceId, files: [first] })).rejects.toBeInstanceOf(TypeError);
  expect(await filesBelow(scene.at("revisions"))).toEqual([]);
  expect(() => createFileRevisionStore({ directory: scene.folder.path, authorityId: "" })).toThrow(TypeError);
});

test("files that cannot stand side by side on a file system leave no revision", async () => {
  await using scene = await setup();
  for (const paths of [["/a", "/a/b"], [`/${"n".repeat(256)}`]]) {
    const tree = filesOf(Object.fromEntries(paths.map((path) => [path, "x"])));
    await expect(scene.store.seal({ workspaceId: "bridge", files: tree })).rejects.toThrow("/0/path: a ");
  }
  expect(await filesBelow(scene.folder.path)).toEqual([]);
});

test("a list that is not what was written is told, and mended by sealing the tree again", async () => {
  await using scene = await setup();
  const revision = await scene.store.seal({ workspaceId: "bridge", files });
  const [list] = await filesBelow(scene.at("revisions"));
  const path = scene.at(`revisions/${list as string}`);
  for (const damage of [
    () => truncate(path, 20),
    () => writeFile(path, "{}"),
    () => writeFile(path, '[{"path":"/../x","length":1,"digest":"x"}]'),
  ]) {
    await damage();
    expect(await fileErrorOf(scene.store.list(revision))).toMatch(
      /^damaged: .*seal the tree again, or restore it$/,
    );
    await scene.store.seal({ workspaceId: "bridge", files });
    expect(await scene.store.list(revision)).toHaveLength(4);
  }
});

test("a file whose bytes are gone is undefined, and one whose bytes have changed ends the reading", async () => {
  await using scene = await setup();
  const revision = await scene.store.seal({ workspaceId: "bridge", files });
  const [second, first] = entries as [(typeof entries)[number], (typeof entries)[number]];
  const pathOf = ({ digest }: { digest: string }): string =>
    scene.at(`sha256/${digest.slice(7, 9)}/${digest.slice(9)}`);
  await writeFile(pathOf(second), "sEcond");
  await expect(scene.store.read(revision, second).then(textOf)).rejects.toBeInstanceOf(JobContentMismatch);
  await rm(pathOf(first));
  expect(await scene.store.read(revision, first)).toBeUndefined();
});

test("an aborted signal refuses every call", async () => {
  await using scene = await setup();
  const revision = await scene.store.seal({ workspaceId: "bridge", files });
  const options = { signal: AbortSignal.abort("stop") };
  const more = filesOf({ "/new": "new" });
  for (const call of [
    () => scene.store.list(revision, options),
    () => scene.store.read(revision, entries[0] as never, options),
    () => scene.store.seal({ workspaceId: "bridge", files: more }, options),
  ])
    await expect(call()).rejects.toBe("stop");
  expect(await filesBelow(scene.at("revisions"))).toHaveLength(1);
});
