import { expect, test } from "bun:test";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { digestOf } from "../canonical/digest.ts";
import { JobContentMismatch } from "../ports/job-content.ts";
import { createFileArtifactStore } from "./create-file-artifact-store.ts";
import { startChild } from "./testing/child.ts";
import { chunksOf, contentOf, textOf } from "./testing/content-of.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { openFilesBelow } from "./testing/open-files-below.ts";
import { filesBelow, temporaryFolder } from "./testing/temporary-folder.ts";

const content = contentOf("an artifact");
const hex = content.digest.slice("sha256:".length);
const name = `sha256/${hex.slice(0, 2)}/${hex.slice(2)}`;

async function setup() {
  const folder = await temporaryFolder();
  const store = createFileArtifactStore({ directory: folder.at("store") });
  return {
    folder,
    store,
    at: (path: string) => folder.at("store", path),
    [Symbol.asyncDispose]: folder[Symbol.asyncDispose],
  };
}

test("nothing is made before the first put", async () => {
  await using scene = await setup();
  expect(await scene.store.has(content)).toBe(false);
  expect(await scene.store.read(content)).toBeUndefined();
  expect(await scene.store.sweep()).toBe(0);
  expect(await readdir(scene.folder.path)).toEqual([]);
});

test.each(["an artifact", "", "x"])(
  "what was put is read again, under its digest and for its user alone: %j",
  async (text) => {
    await using scene = await setup();
    const some = contentOf(text);
    await scene.store.put(some, some.open);
    expect(await scene.store.has(some)).toBe(true);
    expect(await textOf(await scene.store.read(some))).toBe(text);
    const [only, ...others] = await filesBelow(scene.folder.at("store"));
    expect([only?.replaceAll("/", ""), others]).toEqual([some.digest.replace(":", ""), []]);
    expect((await stat(scene.at(only as string))).mode & 0o777).toBe(0o600);
    expect((await stat(scene.folder.at("store"))).mode & 0o777).toBe(0o700);
  },
);

test("a put of what is there does not ask for its bytes", async () => {
  await using scene = await setup();
  await scene.store.put(content, content.open);
  const again = contentOf("an artifact");
  await scene.store.put(again, again.open);
  expect(again.opened()).toBe(0);
  const fresh = createFileArtifactStore({ directory: scene.folder.at("store") });
  expect(await fresh.has(content)).toBe(true);
});

test("a put of what is there makes it as young as a new one", async () => {
  await using scene = await setup();
  await scene.store.put(content, content.open);
  const month = new Date(Date.now() - 30 * 86_400_000);
  await utimes(scene.at(name), month, month);
  const before = Date.now();
  await scene.store.put(content, content.open);
  expect((await stat(scene.at(name))).mtimeMs).toBeGreaterThan(before - 2000);
});

test("nothing is visible while the bytes come", async () => {
  await using scene = await setup();
  let seen: unknown[] = [];
  await scene.store.put(content, async function* () {
    yield Buffer.from("an arti");
    seen = [
      await scene.store.has(content),
      await scene.store.read(content),
      (await readdir(scene.at("incoming"))).length,
    ];
    expect(await filesBelow(scene.at("sha256"))).toEqual([]);
    yield Buffer.from("fact");
  });
  expect(seen).toEqual([false, undefined, 1]);
  expect(await scene.store.has(content)).toBe(true);
});

test.each([["an artifac"], ["an artifact."], ["an artifacT"], [""]])(
  "other bytes are refused and not kept: %j",
  async (text) => {
    await using scene = await setup();
    const putting = scene.store.put(content, () => chunksOf(Buffer.from(text)));
    await expect(putting).rejects.toBeInstanceOf(JobContentMismatch);
    expect(await filesBelow(scene.folder.path)).toEqual([]);
    expect(await scene.store.has(content)).toBe(false);
  },
);

test("a source that throws is told as it is, and leaves nothing", async () => {
  await using scene = await setup();
  const own = Object.assign(new Error("gone"), { code: "ENOENT", syscall: "read" });
  const putting = scene.store.put(content, async function* () {
    yield Buffer.from("an");
    throw own;
  });
  await expect(putting).rejects.toBe(own);
  expect(await filesBelow(scene.folder.path)).toEqual([]);
});

test.each([
  ["cut short", (path: string) => truncate(path, 4)],
  ["grown", (path: string) => writeFile(path, "an artifact and more")],
  ["another of the same length", (path: string) => writeFile(path, "an artifacT")],
])(
  "a file that is %s is not there for has, ends the reading, and is mended by the next put",
  async (_, damage) => {
    await using scene = await setup();
    await scene.store.put(content, content.open);
    await damage(scene.at(name));
    expect(await scene.store.has(content)).toBe(false);
    await expect(scene.store.read(content).then(textOf)).rejects.toBeInstanceOf(JobContentMismatch);
    await scene.store.put(content, content.open);
    expect(await textOf(await scene.store.read(content))).toBe("an artifact");
  },
);

test("an abort ends a put whose source says nothing more, and nothing is kept", async () => {
  await using scene = await setup();
  const controller = new AbortController();
  const reached = Promise.withResolvers<void>();
  const putting = scene.store.put(
    content,
    async function* () {
      yield Buffer.from("an");
      reached.resolve();
      await new Promise(() => {});
    },
    { signal: controller.signal },
  );
  await reached.promise;
  const reason = new Error("no longer wanted");
  controller.abort(reason);
  await expect(putting).rejects.toBe(reason);
  expect(await filesBelow(scene.folder.path)).toEqual([]);
});

test("an aborted signal refuses every call, and ends a reading at the next chunk", async () => {
  await using scene = await setup();
  await scene.store.put(content, content.open);
  const controller = new AbortController();
  const options = { signal: controller.signal };
  const reading = await scene.store.read(content, options);
  const reason = new Error("no longer wanted");
  controller.abort(reason);
  await expect(textOf(reading)).rejects.toBe(reason);
  const calls = [
    () => scene.store.put(content, content.open, options),
    () => scene.store.read(content, options),
    () => scene.store.has(content, options),
  ];
  for (const call of calls) await expect(call()).rejects.toBe(reason);
});

test("a folder or a link in a file's place is told, and not touched", async () => {
  for (const plant of [(path: string) => mkdir(path), (path: string) => symlink("/etc/hostname", path)]) {
    await using scene = await setup();
    await mkdir(scene.at(name.slice(0, 9)), { recursive: true });
    await plant(scene.at(name));
    const calls = [
      () => scene.store.put(content, content.open),
      () => scene.store.read(content),
      () => scene.store.has(content),
    ];
    for (const call of calls)
      expect(await fileErrorOf(call())).toMatch(
        /^not_a_file: the content sha256:\w+ is a (folder|symbolic link) in the store/,
      );
    expect(await readdir(scene.at(name.slice(0, 9)))).toEqual([hex.slice(2)]);
  }
});

test("a file in a folder's place is told", async () => {
  await using scene = await setup();
  await writeFile(scene.folder.at("store"), "not a folder");
  for (const call of [
    () => scene.store.put(content, content.open),
    () => scene.store.has(content),
    () => scene.store.sweep(),
  ])
    expect(await fileErrorOf(call())).toMatch(/^(not_a_folder|path_taken): /);
  expect(await readFile(scene.folder.at("store"), "utf8")).toBe("not a folder");
});

test("a directory that may not be written is told, with the next step", async () => {
  await using scene = await setup();
  await mkdir(scene.at("incoming"), { recursive: true });
  for (const path of [scene.folder.path, scene.folder.at("store"), scene.at("incoming")])
    await chmod(path, 0o555);
  await using child = startChild("unprivileged-writer.ts", {
    directory: scene.folder.at("store"),
    text: "an artifact",
  });
  expect(await child.line()).toMatch(
    /^no_permission: the content sha256:\w+ is not kept: .*grant it the right \(EACCES\)$/,
  );
  await child.done();
  for (const path of [scene.folder.path, scene.folder.at("store"), scene.at("incoming")])
    await chmod(path, 0o755); // so that whoever runs the test may clean up
  expect(await filesBelow(scene.folder.path)).toEqual([]);
});

test.each([
  [{ length: 1, digest: "sha256:../../etc/passwd" }],
  [{ length: 1, digest: digestOf("x").toUpperCase() }],
  [{ length: -1, digest: digestOf("x") }],
  [{ length: 1.5, digest: digestOf("x") }],
  [{ length: Number.NaN, digest: digestOf("x") }],
])("%j is no content", async (wrong) => {
  await using scene = await setup();
  for (const call of [
    () => scene.store.put(wrong, content.open),
    () => scene.store.read(wrong),
    () => scene.store.has(wrong),
  ])
    await expect(call()).rejects.toBeInstanceOf(TypeError);
  expect(await readdir(scene.folder.path)).toEqual([]);
});

test("a sweep removes what is old and has no name, and nothing else", async () => {
  await using scene = await setup();
  await scene.store.put(content, content.open);
  const dayAndHour = new Date(Date.now() - 25 * 3_600_000);
  await writeFile(scene.at("incoming/old"), "rubbish");
  await writeFile(scene.at("incoming/young"), "being written");
  for (const path of ["incoming/old", name]) await utimes(scene.at(path), dayAndHour, dayAndHour);
  expect(await scene.store.sweep()).toBe(1);
  expect(await readdir(scene.at("incoming"))).toEqual(["young"]);
  expect(await scene.store.sweep({ olderThanMs: 0 })).toBe(1);
  expect(await scene.store.has(content)).toBe(true);
  for (const olderThanMs of [-1, Number.NaN, Number.POSITIVE_INFINITY])
    await expect(scene.store.sweep({ olderThanMs })).rejects.toThrow("olderThanMs: expected a number of ms");
});

test.skipIf(process.platform !== "linux")("no file stays open, whatever became of the calls", async () => {
  await using scene = await setup();
  const big = contentOf("0123456789".repeat(100_000));
  await scene.store.put(big, big.open);
  const before = await openFilesBelow(scene.at("."));
  for await (const chunk of (await scene.store.read(big)) ?? []) {
    expect(chunk.byteLength).toBeGreaterThan(0);
    break;
  }
  await scene.store.read(big); // never iterated
  await scene.store.put(content, () => chunksOf(Buffer.from("other"))).catch(() => {});
  await truncate(scene.at(`sha256/${big.digest.slice(7, 9)}/${big.digest.slice(9)}`), 999_999);
  await textOf(await scene.store.read(big)).catch(() => {});
  await scene.store.put(big, big.open);
  expect(await openFilesBelow(scene.at("."))).toEqual(before);
});
