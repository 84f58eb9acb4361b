import { expect, test } from "bun:test";
import { linkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import {
  type AnchoredFolder,
  type FolderAnchor,
  openAnchoredFolder,
  openFolderIn,
} from "./anchored-folder.ts";
import { openRegularFile } from "./open-regular-file.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { anchors } from "./testing/given-workspace.ts";
import { openFilesBelow } from "./testing/open-files-below.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

/** The folder, with something happening right before its second look-up: between the check of a name and its use. */
function betweenCheckAndUse(folder: AnchoredFolder, happen: () => void): AnchoredFolder {
  let lookUps = 0;
  return {
    ...folder,
    at: (name) => {
      lookUps += 1;
      if (lookUps === 2) happen();
      return folder.at(name);
    },
  };
}

interface Scene extends AsyncDisposable {
  readonly at: (...names: readonly string[]) => string;
  readonly sub: AnchoredFolder;
}

async function setup(anchor: FolderAnchor): Promise<Scene> {
  const temporary = await temporaryFolder();
  const at = temporary.at;
  await mkdir(at("root", "sub"), { recursive: true });
  await mkdir(at("outside"));
  for (const path of ["root/sub/file", "outside/file"]) await writeFile(at(path), path);
  Bun.spawnSync(["mkfifo", at("outside/pipe")]);
  const root = await openAnchoredFolder(at("root"), anchor);
  const sub = await openFolderIn(root, "sub");
  return {
    at,
    sub,
    async [Symbol.asyncDispose]() {
      await sub[Symbol.asyncDispose]();
      await root[Symbol.asyncDispose]();
      await temporary[Symbol.asyncDispose]();
    },
  };
}

test.each(
  anchors.flatMap((anchor) => [
    [
      anchor,
      "a symbolic link",
      "path_outside",
      (at: (...names: string[]) => string) => symlinkSync(at("outside/file"), at("root/sub/file")),
    ] as const,
    [
      anchor,
      "a hard link",
      "path_outside",
      (at: (...names: string[]) => string) => linkSync(at("outside/file"), at("root/sub/file")),
    ] as const,
    [
      anchor,
      "a pipe",
      "not_a_file",
      (at: (...names: string[]) => string) => renameSync(at("outside/pipe"), at("root/sub/file")),
    ] as const,
  ]),
)(
  "by %s, a file that becomes %s right after it was checked is refused: %s",
  async (anchor, _, code, plant) => {
    await using scene = await setup(anchor);
    const before = await openFilesBelow(scene.at());
    const folder = betweenCheckAndUse(scene.sub, () => {
      rmSync(scene.at("root/sub/file"));
      plant(scene.at);
    });
    expect(await fileErrorOf(openRegularFile(folder, "file", "one"))).toStartWith(code);
    expect(await openFilesBelow(scene.at())).toEqual(before);
  },
);

test.each(anchors)(
  "by %s, a folder that becomes a link right after it was checked leads nowhere",
  async (anchor) => {
    await using scene = await setup(anchor);
    const folder = betweenCheckAndUse(scene.sub, () => {
      renameSync(scene.at("root/sub"), scene.at("root/moved"));
      symlinkSync(scene.at("outside"), scene.at("root/sub"));
    });
    const opening = openRegularFile(folder, "file", "one");
    if (anchor === "path") return expect(await fileErrorOf(opening)).toContain("leads outside");
    await using handle = await opening;
    expect(await handle.readFile("utf8")).toBe("root/sub/file"); // the very folder, wherever it is now
  },
);

test.each(anchors)(
  "by %s, a file with two names is read where both are the user's own business",
  async (anchor) => {
    await using scene = await setup(anchor);
    linkSync(scene.at("root/sub/file"), scene.at("root/again"));
    await using handle = await openRegularFile(scene.sub, "file", "any");
    expect(await handle.readFile("utf8")).toBe("root/sub/file");
    expect(await fileErrorOf(openRegularFile(scene.sub, "file", "one"))).toContain(
      "has 2 names (hard links)",
    );
  },
);
