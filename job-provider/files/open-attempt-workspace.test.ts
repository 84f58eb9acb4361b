import { describe, expect, test } from "bun:test";
import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { JobContentMismatch } from "../ports/job-content.ts";
import type { JobRevisionStore } from "../ports/job-revision-store.ts";
import { openAttemptWorkspace } from "./open-attempt-workspace.ts";
import { chunksOf, filesOf, textOf } from "./testing/content-of.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { anchors, givenWorkspace } from "./testing/given-workspace.ts";
import { filesBelow, temporaryFolder } from "./testing/temporary-folder.ts";

const input = { "/mesh/case.json": "{}", "/mesh/part 1.stl": "solid", "/notes": "" };

describe.each(anchors)("a workspace, by %s", (anchor) => {
  test("starts with the selected files, read-only, and nothing else", async () => {
    await using scene = await givenWorkspace({ anchor, input, select: ["/notes", "/mesh/case.json"] });
    expect(await scene.files.list()).toEqual([
      { path: "mesh/case.json", length: 2 },
      { path: "notes", length: 0 },
    ]);
    expect((await stat(scene.inside("mesh/case.json"))).mode & 0o222).toBe(0);
    expect(
      (await stat(scene.folder.at("attempts", (await readdir(scene.folder.at("attempts")))[0] as string)))
        .mode & 0o777,
    ).toBe(0o700);
    for (const change of [
      () => scene.files.write("mesh/case.json", "mine"),
      () => scene.files.write("notes", ""),
    ])
      expect(await fileErrorOf(change())).toMatch(
        /^read_only: "\w.*write ".*" under another name, or remove it first$/,
      );
    expect(await readFile(scene.inside("mesh/case.json"), "utf8")).toBe("{}");
  });

  test("of an attempt that resumes has all of the checkpoint's files over the input's, for writing", async () => {
    await using scene = await givenWorkspace({
      anchor,
      input,
      checkpoint: { "/mesh/case.json": "step 3", "/state": "7" },
    });
    const texts = await Promise.all(
      (await scene.files.list()).map(async ({ path }) => [
        path,
        String(Buffer.from(await scene.files.read(path))),
      ]),
    );
    expect(texts).toEqual([
      ["mesh/case.json", "step 3"],
      ["mesh/part 1.stl", "solid"],
      ["notes", ""],
      ["state", "7"],
    ]);
    await scene.files.write("state", "8");
    await scene.files.write("mesh/case.json", "step 4");
    expect(await fileErrorOf(scene.files.write("notes", "x"))).toStartWith("read_only");
  });

  test("of an attempt that resumes has no input file in the way of the checkpoint's", async () => {
    const resumed = { "/mesh": "one file", "/notes/today": "a folder" };
    await using scene = await givenWorkspace({ anchor, input, checkpoint: resumed });
    const paths = (await scene.files.list()).map(({ path }) => path);
    expect(paths).toEqual(["mesh", "notes/today"]);
  });

  test("keeps what is written, makes folders, and replaces whole files", async () => {
    await using scene = await givenWorkspace({ anchor });
    await scene.files.write("out/deep/a.txt", "ä");
    expect(await scene.files.stat("out/deep/a.txt")).toEqual({ path: "out/deep/a.txt", length: 2 });
    await scene.files.write("out/deep/a.txt", new Uint8Array([1, 2, 3]));
    expect([...(await scene.files.read("out/deep/a.txt"))]).toEqual([1, 2, 3]);
    await scene.files.write("out/b", chunksOf(Buffer.from("stre"), Buffer.from("am")));
    expect(await textOf(scene.files.stream("out/b"))).toBe("stream");
    await scene.files.write("empty", "");
    expect(await scene.files.list("out")).toEqual([
      { path: "out/b", length: 6 },
      { path: "out/deep/a.txt", length: 3 },
    ]);
    await scene.files.makeFolder("x/y");
    await scene.files.makeFolder("x/y");
    expect(await scene.files.list("x")).toEqual([]);
  });

  test("shows nothing of a write before it is whole, and nothing at all when it fails", async () => {
    await using scene = await givenWorkspace({ anchor });
    await scene.files.write("a", "before");
    const own = new Error("no more");
    const write = (fails: boolean) =>
      scene.files.write(
        "a",
        (async function* () {
          yield Buffer.from("after");
          expect(await readFile(scene.inside("a"), "utf8")).toBe("before");
          expect(await scene.files.list()).toEqual([{ path: "a", length: 6 }]);
          if (fails) throw own;
        })(),
      );
    await expect(write(true)).rejects.toBe(own);
    expect(await readFile(scene.inside("a"), "utf8")).toBe("before");
    await write(false);
    expect(await readFile(scene.inside("a"), "utf8")).toBe("after");
    const all = await filesBelow(scene.folder.at("attempts"));
    expect(all.filter((path) => path.includes("drafts"))).toEqual([]);
  });

  test("tells what is not there, and what is no file", async () => {
    await using scene = await givenWorkspace({ anchor, input });
    expect(await scene.files.stat("none")).toBeUndefined();
    expect(await scene.files.stat("none/at/all")).toBeUndefined();
    expect(await scene.files.stat("notes/below")).toBeUndefined();
    expect(await scene.files.stat("mesh")).toBeUndefined();
    expect(await fileErrorOf(scene.files.read("none"))).toStartWith(
      'not_found: the file "none" cannot be read',
    );
    expect(await fileErrorOf(scene.files.read("mesh"))).toBe(
      'not_a_file: "mesh" is a folder: expected a regular file',
    );
    expect(await fileErrorOf(scene.files.read("notes/below"))).toStartWith('not_a_folder: "notes" is a file');
    expect(await fileErrorOf(textOf(scene.files.stream("none")))).toStartWith("not_found");
    expect(await fileErrorOf(scene.files.list("none"))).toStartWith("not_found");
    expect(await fileErrorOf(scene.files.list("notes"))).toStartWith("not_a_folder");
    expect(await fileErrorOf(scene.files.write("mesh", "x"))).toStartWith("not_a_file");
    expect(await fileErrorOf(scene.files.write("notes/below", "x"))).toStartWith("not_a_folder");
    expect(await fileErrorOf(scene.files.makeFolder("notes"))).toStartWith("not_a_folder");
    expect(await fileErrorOf(scene.attempt.source("mesh"))).toStartWith("not_a_file");
  });

  test("removes a file, also of the input, and a folder with all below it; nothing there is fine", async () => {
    await using scene = await givenWorkspace({ anchor, input });
    await scene.files.remove("notes");
    await scene.files.remove("mesh");
    for (const path of ["none", "none/below", "notes"]) await scene.files.remove(path);
    expect(await readdir(scene.files.path)).toEqual([]);
    await scene.files.write("notes", "mine");
    await scene.files.remove("notes/below");
    expect(await readFile(scene.inside("notes"), "utf8")).toBe("mine");
  });

  test("refuses every change once the attempt lost its lease, also one that began before", async () => {
    let live = true;
    const lost = new Error("the lease is lost");
    const assertLive = () => {
      if (!live) throw lost;
    };
    await using scene = await givenWorkspace({ anchor, input, assertLive });
    const late = scene.files.write(
      "late",
      (async function* () {
        yield Buffer.from("x");
        live = false;
      })(),
    );
    await expect(late).rejects.toBe(lost);
    for (const change of [
      () => scene.files.write("a", "x"),
      () => scene.files.makeFolder("b"),
      () => scene.files.remove("notes"),
    ])
      await expect(change()).rejects.toBe(lost);
    expect((await scene.files.list()).map(({ path }) => path)).toEqual([
      "mesh/case.json",
      "mesh/part 1.stl",
      "notes",
    ]);
  });

  test("looks at the lease before it writes, before it makes folders and before it names", async () => {
    const lost = new Error("the lease is lost");
    for (const [refusedLook, left] of [
      [1, []],
      [2, []],
      [3, ["out"]],
      [4, ["out", "out/a"]],
    ] as const) {
      let looks = 0;
      const assertLive = () => {
        looks += 1;
        if (looks === refusedLook) throw lost;
      };
      await using scene = await givenWorkspace({ anchor, assertLive });
      const writing = scene.files.write("out/a", "x");
      if (refusedLook < 4) await expect(writing).rejects.toBe(lost);
      else await writing;
      expect((await readdir(scene.files.path, { recursive: true })).sort()).toEqual([...left]);
    }
  });

  test("gives a file to a store, and a change in between is refused there", async () => {
    await using scene = await givenWorkspace({ anchor });
    await scene.files.write("out/result", "42");
    const source = await scene.attempt.source("out/result");
    expect(source).toMatchObject({ path: "/out/result", length: 2 });
    const revision = await scene.revisions.seal({ workspaceId: "w", files: [source] });
    expect(await textOf(await scene.revisions.read(revision, source))).toBe("42");
    await scene.files.write("out/result", "43");
    const before = await scene.attempt.source("out/result");
    await writeFile(scene.inside("out/result"), "44");
    await expect(scene.revisions.seal({ workspaceId: "w", files: [before] })).rejects.toBeInstanceOf(
      JobContentMismatch,
    );
    await truncate(scene.inside("out/result"), 0);
    await expect(scene.revisions.seal({ workspaceId: "w", files: [before] })).rejects.toBeInstanceOf(
      JobContentMismatch,
    );
    await scene.files.remove("out/result");
    await symlink(scene.folder.at("outside", "secret"), scene.inside("out/result"));
    expect(await fileErrorOf(scene.revisions.seal({ workspaceId: "w", files: [before] }))).toStartWith(
      "path_outside",
    );
  });

  test("is gone after close, which may be called again, and refuses what comes later", async () => {
    await using scene = await givenWorkspace({ anchor, input });
    await scene.files.write("a", "x");
    const source = await scene.attempt.source("a");
    await Promise.all([scene.attempt.close(), scene.attempt.close()]);
    await scene.attempt.close();
    expect(await readdir(scene.folder.at("attempts"))).toEqual([]);
    const { files } = scene;
    for (const call of [
      () => files.read("a"),
      () => files.list(),
      () => files.stat("a"),
      () => files.write("a", "x"),
      () => files.remove("a"),
      () => files.makeFolder("b"),
      () => textOf(files.stream("a")),
      () => textOf(source.open()),
      () => scene.attempt.source("a"),
    ])
      expect(await fileErrorOf(call())).toBe("closed: the attempt's workspace is closed: its files are gone");
  });

  test("ends a write whose source hangs when it is closed", async () => {
    await using scene = await givenWorkspace({ anchor });
    const begun = Promise.withResolvers<void>();
    const writing = scene.files.write(
      "a",
      (async function* () {
        yield Buffer.from("x");
        begun.resolve();
        await new Promise(() => {});
      })(),
    );
    const told = fileErrorOf(writing);
    await begun.promise;
    await scene.attempt.close();
    expect(await told).toStartWith("closed");
    expect(await readdir(scene.folder.at("attempts"))).toEqual([]);
  });
});

test("two attempts, and one whose ids no file name could hold, have directories of their own", async () => {
  const job = { hostId: "../..", jobId: "a/b\0\n*" };
  await using scene = await givenWorkspace({ job, attemptId: "." });
  await using other = await openAttemptWorkspace({
    ...scene.options,
    job: { hostId: "../..", jobId: "a/b" },
    attemptId: "\0\n*.",
  });
  await scene.files.write("a", "1");
  expect(await other.files.list()).toEqual([]);
  for (const name of await readdir(scene.folder.at("attempts"))) expect(name).toMatch(/^[0-9a-f]{64}$/);
  expect(await readdir(scene.folder.at("attempts"))).toHaveLength(2);
});

test("a second workspace of the same attempt is refused, and the first one stays", async () => {
  await using scene = await givenWorkspace({ input });
  expect(await fileErrorOf(openAttemptWorkspace(scene.options))).toStartWith(
    "path_taken: the attempt has a workspace already",
  );
  expect(await scene.files.list()).toHaveLength(3);
});

test("an attempt whose input is not what was sealed gets no workspace, and nothing stays", async () => {
  await using scene = await givenWorkspace({ input });
  await scene.attempt.close();
  const { revisions, options } = scene;
  const open = (changes: object, store: Partial<JobRevisionStore> = {}) =>
    openAttemptWorkspace({ ...options, revisions: { ...revisions, ...store }, ...changes });
  const paths = ["/mesh/case.json", "/none"];
  expect(await fileErrorOf(open({ input: { ...options.input, paths } }))).toStartWith(
    'not_found: "/none" is no file of the revision',
  );
  const revision = { ...options.input.revision, revisionId: "r" };
  expect(await fileErrorOf(open({ input: { revision, paths } }))).toStartWith(
    'not_found: the revision "r" is not in the store',
  );
  expect(await fileErrorOf(open({}, { read: async () => undefined }))).toContain("lacks its bytes");
  await expect(open({}, { read: async () => chunksOf(Buffer.from("no")) })).rejects.toBeInstanceOf(
    JobContentMismatch,
  );
  await expect(open({ signal: AbortSignal.abort("stop") })).rejects.toBe("stop");
  const [entry] = (await revisions.list(options.input.revision)) ?? [];
  for (const path of ["/../../escaped", "//etc/x", "/a\0b", "no root"]) {
    const list = async () => [{ ...entry, path } as never];
    expect(await fileErrorOf(open({ input: { ...options.input, paths: [path] } }, { list }))).toStartWith(
      "path_invalid",
    );
  }
  expect(await readdir(scene.folder.at("attempts"))).toEqual([]);
  expect((await filesBelow(scene.folder.path)).filter((path) => path.includes("escaped"))).toEqual([]);
});

test("a revision of another store whose file stands where another has a folder is not laid out, and each alone is", async () => {
  await using scene = await givenWorkspace();
  const files = filesOf({ "/a": "file", "/a/b": "below" });
  const revisions: JobRevisionStore = {
    ...scene.revisions,
    list: async () => files,
    read: async (_, { path }) => files.find((each) => each.path === path)?.open(),
  };
  const open = (attemptId: string, paths: readonly string[]) =>
    openAttemptWorkspace({
      ...scene.options,
      revisions,
      attemptId,
      input: { ...scene.options.input, paths },
    });
  await using alone = await open("2", ["/a/b"]);
  expect(await alone.files.list()).toEqual([{ path: "a/b", length: 5 }]);
  expect(await fileErrorOf(open("3", ["/a", "/a/b"]))).toMatch(/^(not_a_folder|path_taken): /);
});

test("names that differ in case only stay two files where the file system tells them apart", async () => {
  await using folder = await temporaryFolder();
  await mkdir(folder.at("probe"));
  const tellsApart = !(await stat(folder.at("PROBE")).catch(() => undefined));
  const opening = givenWorkspace({ input: { "/Case": "upper", "/case": "lower" } });
  if (!tellsApart) return expect(await fileErrorOf(opening)).toStartWith("path_taken");
  await using scene = await opening;
  expect([
    String(Buffer.from(await scene.files.read("Case"))),
    String(Buffer.from(await scene.files.read("case"))),
  ]).toEqual(["upper", "lower"]);
});

test("a directory that is not there is told", async () => {
  await using scene = await givenWorkspace();
  const opening = openAttemptWorkspace({ ...scene.options, directory: scene.folder.at("none") });
  expect(await fileErrorOf(opening)).toMatch(/^not_found: the folder ".*none" cannot be opened/);
});
