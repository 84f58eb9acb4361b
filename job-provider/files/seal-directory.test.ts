import { expect, test } from "bun:test";
import { link, mkdir, symlink, writeFile } from "node:fs/promises";
import fc from "fast-check";
import { JobContentMismatch } from "../ports/job-content.ts";
import type { JobRevisionStore } from "../ports/job-revision-store.ts";
import { treeDigest } from "../tree/tree-digest.ts";
import { createFileRevisionStore } from "./create-file-revision-store.ts";
import { openAttemptWorkspace } from "./open-attempt-workspace.ts";
import { sealDirectory } from "./seal-directory.ts";
import { filesOf, textOf } from "./testing/content-of.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

async function setup(tree: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder();
  const directory = folder.at("tree");
  await mkdir(directory);
  for (const [path, text] of Object.entries(tree)) await Bun.write(directory + path, text);
  const store = createFileRevisionStore({ directory: folder.at("store"), authorityId: "acme" });
  return { folder, directory, store, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

const tree = { "/a": "first", "/b/c d": "second", "/b/ü": "", "/.hidden": "x" };

test("every file below a directory is sealed, and the tree digest is the one of its files", async () => {
  await using scene = await setup(tree);
  await mkdir(`${scene.directory}/empty`);
  const revision = await sealDirectory(scene.store, { workspaceId: "w", directory: scene.directory });
  expect(revision.treeDigest).toBe(treeDigest(filesOf(tree)));
  expect((await scene.store.list(revision))?.map(({ path }) => path)).toEqual(Object.keys(tree).sort());
});

test("of a list of paths only these are sealed, and one that is missing or twice is refused", async () => {
  await using scene = await setup(tree);
  const seal = (...paths: string[]) =>
    sealDirectory(scene.store, { workspaceId: "w", directory: scene.directory, paths });
  expect((await seal("/b/c d")).treeDigest).toBe(treeDigest(filesOf({ "/b/c d": "second" })));
  expect((await seal()).treeDigest).toBe(treeDigest([]));
  expect(await fileErrorOf(seal("/a", "/none"))).toStartWith('not_found: the file "none" cannot be read');
  expect(await fileErrorOf(seal("/b"))).toStartWith('not_a_file: "b" is a folder');
  expect(await fileErrorOf(seal("a"))).toStartWith(
    'path_invalid: "a" cannot be sealed: a path that does not start at the root',
  );
  expect(await fileErrorOf(seal("/../tree/a"))).toStartWith("path_invalid");
  await expect(seal("/a", "/a")).rejects.toThrow("the same path stands twice");
});

test("a link, a pipe and an odd name are refused by name; a link on the way to the directory and hard links are not", async () => {
  for (const [plant, told] of [
    [
      (at: string) => symlink("a", `${at}/link`),
      'path_outside: "link" is a symbolic link: name the file itself',
    ],
    [(at: string) => symlink("b", `${at}/link`), 'path_outside: "link" is a symbolic link'],
    [
      async (at: string) => void Bun.spawnSync(["mkfifo", `${at}/b/pipe`]),
      'not_a_file: "b/pipe" is a named pipe',
    ],
    [(at: string) => writeFile(`${at}/x[1]`, ""), 'path_invalid: "/x[1]" cannot be sealed: a glob'],
    [
      (at: string) => writeFile(`${at}/x\n`, ""),
      'path_invalid: "/x\\n" cannot be sealed: a control character',
    ],
    [
      (at: string) => writeFile(Buffer.concat([Buffer.from(`${at}/x`), Buffer.from([0xff])]), ""),
      "path_invalid: the folder",
    ],
  ] as const) {
    await using scene = await setup(tree);
    await plant(scene.directory);
    expect(
      await fileErrorOf(sealDirectory(scene.store, { workspaceId: "w", directory: scene.directory })),
    ).toStartWith(told);
  }
  await using scene = await setup(tree);
  await link(`${scene.directory}/a`, scene.folder.at("again"));
  await symlink(scene.directory, scene.folder.at("way"));
  const revision = await sealDirectory(scene.store, { workspaceId: "w", directory: scene.folder.at("way") });
  expect(revision.treeDigest).toBe(treeDigest(filesOf(tree)));
  expect(
    await fileErrorOf(sealDirectory(scene.store, { workspaceId: "w", directory: `${scene.directory}/none` })),
  ).toStartWith("not_found");
});

test("a file that changes between its digest and its storing leaves no revision", async () => {
  await using scene = await setup(tree);
  const late: JobRevisionStore = {
    ...scene.store,
    seal: async (...call) => {
      await writeFile(`${scene.directory}/a`, "First");
      return scene.store.seal(...call);
    },
  };
  const sealing = sealDirectory(late, { workspaceId: "w", directory: scene.directory });
  await expect(sealing).rejects.toBeInstanceOf(JobContentMismatch);
});

test("an aborted signal ends it", async () => {
  await using scene = await setup(tree);
  const sealing = sealDirectory(scene.store, {
    workspaceId: "w",
    directory: scene.directory,
    signal: AbortSignal.abort("stop"),
  });
  await expect(sealing).rejects.toBe("stop");
});

const name = fc.stringMatching(/^[a-z .~-]{1,8}$/).filter((text) => text !== "." && text !== "..");
const someTree = fc
  .dictionary(
    fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => `/${names.join("/")}`),
    fc.string({ maxLength: 20 }),
    { maxKeys: 8 },
  )
  .filter(
    (files) =>
      !Object.keys(files).some((path) => Object.keys(files).some((other) => other.startsWith(`${path}/`))),
  );

test("any tree comes out of a workspace as it went in", async () => {
  await fc.assert(
    fc.asyncProperty(someTree, async (some) => {
      await using scene = await setup();
      const input = {
        revision: await scene.store.seal({ workspaceId: "w", files: filesOf(some) }),
        paths: Object.keys(some),
      };
      await using attempt = await openAttemptWorkspace({
        directory: scene.directory,
        job: { hostId: "h", jobId: "j" },
        attemptId: "1",
        revisions: scene.store,
        input,
      });
      const again = await sealDirectory(scene.store, { workspaceId: "again", directory: attempt.files.path });
      expect(again.treeDigest).toBe(input.revision.treeDigest);
      for (const [path, text] of Object.entries(some))
        expect(await textOf(attempt.files.stream(path.slice(1)))).toBe(text.toWellFormed());
    }),
    { numRuns: 12 },
  );
});
