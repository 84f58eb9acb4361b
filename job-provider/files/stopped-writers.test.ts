import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { createFileArtifactStore } from "./create-file-artifact-store.ts";
import { createFileRevisionStore } from "./create-file-revision-store.ts";
import { startChild } from "./testing/child.ts";
import { competingTexts } from "./testing/competing-texts.ts";
import { contentOf, filesOf, textOf } from "./testing/content-of.ts";
import type { StoppingWrite } from "./testing/stopping-writer.ts";
import { filesBelow, type TemporaryFolder, temporaryFolder } from "./testing/temporary-folder.ts";

const text = "the whole content";
const content = contentOf(text);
const steps = ["streaming", "opened", "written", "synced", "named"];
const putPoints = [...steps, "kept"];
/** A seal with one file: the file's steps, then the list's. */
const sealPoints = [...steps, ...steps.slice(1), "kept"];

let folder: TemporaryFolder;
const writes: StoppingWrite[] = [];

/** One process stops in every store at its own point, and one SIGKILL meets them all. */
beforeAll(async () => {
  folder = await temporaryFolder();
  const write = (kind: StoppingWrite["kind"]) => (_: string, index: number) =>
    writes.push({ kind, directory: folder.at(`${kind}-${index}`), steps: index });
  putPoints.forEach(write("put"));
  sealPoints.forEach(write("seal"));
  await using child = startChild("stopping-writer.ts", { writes, text });
  const reached: string[] = [];
  while (reached.length < writes.length) reached.push(await child.line());
  await child.kill();
  const expected = [
    ...putPoints.map((point, index) => `put ${index} ${point}`),
    ...sealPoints.map((point, index) => `seal ${index} ${point}`),
  ];
  expect(reached.sort()).toEqual(expected.sort());
});

afterAll(() => folder[Symbol.asyncDispose]());

const incoming = (directory: string) => readdir(`${directory}/incoming`);

describe.each(putPoints.map((point, index) => [point, index] as const))(
  "a put that was killed when %s",
  (point, index) => {
    test("left its content whole or not at all, and the next put finishes", async () => {
      const directory = folder.at(`put-${index}`);
      const store = createFileArtifactStore({ directory });
      const isNamed = point === "named" || point === "kept";
      expect(await filesBelow(`${directory}/sha256`)).toHaveLength(isNamed ? 1 : 0);
      expect(await store.has(content)).toBe(isNamed);
      expect(await incoming(directory)).toHaveLength(isNamed ? 0 : 1);
      const again = contentOf(text);
      await store.put(again, again.open);
      expect(again.opened()).toBe(isNamed ? 0 : 1);
      expect(await textOf(await store.read(content))).toBe(text);
      expect(await store.sweep({ olderThanMs: 0 })).toBe(isNamed ? 0 : 1);
      expect(await incoming(directory)).toEqual([]);
      expect(await store.has(content)).toBe(true);
    });
  },
);

describe.each(sealPoints.map((point, index) => [point, index] as const))(
  "a seal that was killed when %s, at its step %i",
  (_, index) => {
    test("left its revision whole or not at all, and the next seal finishes", async () => {
      const directory = folder.at(`seal-${index}`);
      const store = createFileRevisionStore({ directory, authorityId: "acme" });
      const files = filesOf({ "/a": text });
      await using elsewhere = await temporaryFolder();
      const revision = await createFileRevisionStore({ directory: elsewhere.path, authorityId: "acme" }).seal(
        { workspaceId: "bridge", files },
      );
      const isListed = index >= sealPoints.length - 2;
      const [entry] = files.map(({ path, length, digest }) => ({ path, length, digest }));
      expect(await store.list(revision)).toEqual(isListed ? [entry as never] : undefined);
      const stream = await store.read(revision, files[0] as never);
      expect(stream === undefined ? undefined : await textOf(stream)).toBe(isListed ? text : undefined);
      expect(await filesBelow(`${directory}/revisions`)).toHaveLength(isListed ? 1 : 0);
      expect(await store.seal({ workspaceId: "bridge", files })).toEqual(revision);
      expect(await textOf(await store.read(revision, files[0] as never))).toBe(text);
      await store.sweep({ olderThanMs: 0 });
      expect(await incoming(directory)).toEqual([]);
      expect(await store.list(revision)).toEqual([entry as never]);
    });
  },
);

test("two processes that put and seal the same at once both succeed, and each content is kept once", async () => {
  const [artifacts, revisions] = [folder.at("artifacts"), folder.at("revisions")];
  const texts = competingTexts(24);
  await using first = startChild("competing-writer.ts", { artifacts, revisions, count: texts.length });
  await using second = startChild("competing-writer.ts", { artifacts, revisions, count: texts.length });
  const both = [first, second];
  expect(await Promise.all(both.map((child) => child.line()))).toEqual(["ready", "ready"]);
  for (const child of both) child.go();
  const ids = await Promise.all(both.map((child) => child.line()));
  await Promise.all(both.map((child) => child.done()));
  expect(new Set(ids).size).toBe(1);
  for (const directory of [artifacts, revisions]) {
    expect(await filesBelow(`${directory}/sha256`)).toHaveLength(texts.length);
    expect(await incoming(directory)).toEqual([]);
  }
  const store = createFileArtifactStore({ directory: artifacts });
  for (const each of texts.map(contentOf)) expect(await store.has(each)).toBe(true);
});
