import { describe, expect, test } from "bun:test";
import { link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { sealDirectory } from "./seal-directory.ts";
import { startChild } from "./testing/child.ts";
import { textOf } from "./testing/content-of.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { anchors, type GivenWorkspace, givenWorkspace } from "./testing/given-workspace.ts";
import { filesBelow } from "./testing/temporary-folder.ts";

/** Every call that takes a path and reads or writes there. */
const calls = ({ files, attempt }: GivenWorkspace, path: string) =>
  ({
    read: () => files.read(path),
    stream: () => textOf(files.stream(path)),
    stat: () => files.stat(path),
    list: () => files.list(path),
    write: () => files.write(path, "mine"),
    makeFolder: () => files.makeFolder(path),
    remove: () => files.remove(path),
    source: () => attempt.source(path),
  }) as const;
const codeOf = async (call: Promise<unknown>) => (await fileErrorOf(call)).split(":")[0];
const run = (...command: string[]) => expect(Bun.spawnSync(command).exitCode).toBe(0);

async function expectUntouched({ folder }: GivenWorkspace): Promise<void> {
  expect(await filesBelow(folder.at("outside"))).toEqual(["secret"]);
  expect(await readFile(folder.at("outside", "secret"), "utf8")).toBe("not yours");
}

describe.each(anchors)("through a workspace, by %s,", (anchor) => {
  test.each([
    "../outside/secret",
    "..",
    ".",
    "a/../../../outside/secret",
    "a/..",
    "./a",
    "/etc/passwd",
    "//etc/passwd",
    "C:\\a",
    "..\\outside",
    "file:///etc/passwd",
    "",
    "a//b",
    "a/",
    "a\0b",
    "a\nb",
    "a\u007F",
    "a\uD800",
  ])("the path %j is refused by every call", async (path) => {
    await using scene = await givenWorkspace({ anchor });
    for (const [name, call] of Object.entries(calls(scene, path)))
      expect([name, await codeOf(call())]).toEqual([name, "path_invalid"]);
    await expectUntouched(scene);
  });

  test("a path of too many characters is refused by every call", async () => {
    await using scene = await givenWorkspace({ anchor });
    for (const [name, call] of Object.entries(
      calls(scene, "a/".repeat(2_048).slice(0, -1).padEnd(4_096, "a")),
    ))
      expect([name, await codeOf(call())]).toEqual([name, "path_invalid"]);
  });

  test.each(["a".repeat(256), "ü".repeat(128), "a".repeat(4095)])(
    "a name of too many bytes is refused by every call",
    async (path) => {
      await using scene = await givenWorkspace({ anchor });
      for (const [name, call] of Object.entries(calls(scene, path)))
        expect([name, await codeOf(call())]).toEqual([name, "name_too_long"]);
    },
  );

  test("names that only look odd are files like others", async () => {
    await using scene = await givenWorkspace({ anchor });
    const names = [
      "...",
      "..a",
      "-rf",
      "~",
      "$HOME",
      "a b",
      "*",
      "[x]",
      "C:",
      "ü\u0301",
      "\u{1F600}",
      "a".repeat(255),
      "__proto__",
      `d/${"e/".repeat(100)}f`,
    ];
    for (const name of names) await scene.files.write(name, name);
    for (const name of names) expect(String(Buffer.from(await scene.files.read(name)))).toBe(name);
    expect((await scene.files.list()).map(({ path }) => path)).toEqual([...names].sort());
  });

  test("a symbolic link in a folder's place leads nowhere, wherever it points", async () => {
    await using scene = await givenWorkspace({ anchor });
    await scene.files.write("real/secret", "mine");
    for (const target of [
      scene.folder.at("outside"),
      "../../../outside",
      scene.inside("real"),
      "/",
      "nowhere",
    ]) {
      await symlink(target, scene.inside("door"));
      for (const [name, call] of Object.entries(calls(scene, "door/secret")))
        expect([target, name, await codeOf(call()).catch((error: Error) => error.message)]).toEqual([
          target,
          name,
          "path_outside",
        ]);
      expect(await codeOf(scene.files.list("door"))).toBe("path_outside");
      expect(await codeOf(scene.files.makeFolder("door"))).toBe("path_outside");
      expect(await scene.files.list()).toEqual([{ path: "real/secret", length: 4 }]);
      await scene.files.remove("door");
      expect(await readdir(scene.files.path)).toEqual(["real"]);
    }
    await expectUntouched(scene);
  });

  test("a symbolic link in a file's place is neither read nor written through, and removed itself", async () => {
    await using scene = await givenWorkspace({ anchor });
    for (const target of [scene.folder.at("outside", "secret"), scene.folder.at("outside", "new"), "door"]) {
      await symlink(target, scene.inside("door"));
      const { remove, ...others } = calls(scene, "door");
      for (const [name, call] of Object.entries(others))
        expect([target, name, await codeOf(call())]).toEqual([target, name, "path_outside"]);
      expect(await scene.files.list()).toEqual([]);
      await remove();
      expect(await readdir(scene.files.path)).toEqual([]);
    }
    await expectUntouched(scene);
  });

  test("a hard link to a file outside is not read, and a write replaces the name and not the file", async () => {
    await using scene = await givenWorkspace({ anchor });
    await link(scene.folder.at("outside", "secret"), scene.inside("door"));
    const { read, stream, stat, source } = calls(scene, "door");
    for (const call of [read, stream, stat, source]) expect(await codeOf(call())).toBe("path_outside");
    await scene.files.write("door", "mine");
    expect(String(Buffer.from(await scene.files.read("door")))).toBe("mine");
    await expectUntouched(scene);
  });

  test("a pipe, a socket and a device are refused at once", async () => {
    await using scene = await givenWorkspace({ anchor });
    run("mkfifo", scene.inside("pipe"));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(scene.inside("socket"), resolve));
    const planted = ["pipe", "socket"];
    if (
      process.geteuid?.() === 0 &&
      Bun.spawnSync(["mknod", scene.inside("device"), "c", "1", "5"]).exitCode === 0
    )
      planted.push("device");
    try {
      for (const path of planted) {
        const { read, stream, stat, source, write } = calls(scene, path);
        for (const call of [read, stream, stat, source, write])
          expect([path, await codeOf(call())]).toEqual([path, "not_a_file"]);
        expect(await codeOf(scene.files.read(`${path}/below`))).toBe("not_a_folder");
      }
      expect(await scene.files.list()).toEqual([]);
      for (const path of planted) await scene.files.remove(path);
      expect(await readdir(scene.files.path)).toEqual([]);
    } finally {
      server.close();
    }
  });

  test("a folder that becomes a link while a file is written leads nowhere", async () => {
    await using scene = await givenWorkspace({ anchor });
    await scene.files.makeFolder("out");
    const writing = scene.files.write(
      "out/secret",
      (async function* () {
        yield Buffer.from("mine");
        await rename(scene.inside("out"), scene.inside("moved"));
        await symlink(scene.folder.at("outside"), scene.inside("out"));
      })(),
    );
    expect(await codeOf(writing)).toBe("path_outside");
    await expectUntouched(scene);
  });

  test("a workspace that is itself exchanged for a link leads nowhere, and is removed", async () => {
    const scene = await givenWorkspace({ anchor });
    await scene.files.write("secret", "mine");
    await rename(scene.files.path, scene.folder.at("moved"));
    await symlink(scene.folder.at("outside"), scene.files.path);
    for (const [name, call] of Object.entries(calls(scene, "secret")))
      expect([name, await codeOf(call())]).toEqual([name, "path_outside"]);
    await scene.attempt.close();
    await expectUntouched(scene);
    expect(await readdir(scene.folder.at("attempts"))).toEqual([]);
    await scene.folder[Symbol.asyncDispose]();
  });

  test("a listing names what no path can have, and does not pass it over", async () => {
    for (const make of [
      (path: string) => writeFile(`${path}\n`, ""),
      (path: string) => writeFile(Buffer.concat([Buffer.from(path), Buffer.from([0xff])]), ""),
    ]) {
      await using scene = await givenWorkspace({ anchor });
      await make(scene.inside("odd"));
      expect(await codeOf(scene.files.list())).toBe("path_invalid");
      await rm(scene.files.path, { recursive: true });
    }
  });

  test("removing follows no link, at whatever depth, and no name stops it", async () => {
    const scene = await givenWorkspace({ anchor });
    const deep = scene.inside(`tree/${"d/".repeat(300)}`);
    await mkdir(deep, { recursive: true });
    await symlink(scene.folder.at("outside"), `${deep}door`);
    await mkdir(Buffer.concat([Buffer.from(scene.inside("tree/odd")), Buffer.from([0xff, 0x0a])]));
    await writeFile(scene.inside("tree/-rf"), "");
    run("mkfifo", scene.inside("tree/pipe"));
    run("chmod", "-R", "a-w", scene.inside("tree"));
    if (anchor === "descriptor") await scene.files.remove("tree");
    await scene.attempt.close();
    await expectUntouched(scene);
    expect(await readdir(scene.folder.at("attempts"))).toEqual([]);
    await scene.folder[Symbol.asyncDispose]();
  });
});

test.skipIf(process.platform !== "linux")(
  "while another process exchanges a folder for a link again and again, no call reads or writes outside",
  async () => {
    const scene = await givenWorkspace({ anchor: "descriptor" });
    await scene.files.write("out/secret", "mine");
    await mkdir(scene.folder.at("outside", "sub"));
    await using child = startChild("folder-exchanger.ts", {
      folder: scene.inside("out"),
      target: scene.folder.at("outside"),
    });
    expect(await child.line()).toBe("exchanging");
    const seen = new Map<string, number>();
    const note = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
    for (let turn = 0; turn < 150; turn++) {
      const secret = scene.files.read("out/secret").then(
        (bytes) => note(String(Buffer.from(bytes))),
        () => note("refused"),
      );
      await Promise.all([
        secret,
        scene.files.write(`out/new-${turn}`, "x").catch(() => note("refused")),
        scene.files.remove("out/sub").catch(() => note("refused")),
        scene.files.list("out").then(
          (list) => note(list.some(({ length }) => length === 9) ? "listed outside" : "listed"),
          () => note("refused"),
        ),
      ]);
    }
    expect(child.isAlive()).toBe(true);
    await child.kill();
    expect([...seen.keys()].filter((what) => !["mine", "refused", "listed"].includes(what))).toEqual([]);
    expect(await readdir(scene.folder.at("outside"))).toEqual(["secret", "sub"]);
    await scene.attempt.close();
    await scene.folder[Symbol.asyncDispose]();
  },
);

test("sealing a workspace's directory refuses the same plants", async () => {
  await using scene = await givenWorkspace();
  await symlink(scene.folder.at("outside", "secret"), scene.inside("door"));
  const sealing = sealDirectory(scene.revisions, { workspaceId: "w", directory: scene.files.path });
  expect(await codeOf(sealing)).toBe("path_outside");
});
