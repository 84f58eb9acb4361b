import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { chunksOf } from "./testing/content-of.ts";
import { fileErrorOf } from "./testing/file-error-of.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";
import { writeChunks } from "./write-chunks.ts";

test.skipIf(!existsSync("/dev/full"))("a full device is told as such, with the next step", async () => {
  await using handle = await open("/dev/full", "w");
  const writing = writeChunks('"a" cannot be written', handle, chunksOf(Buffer.from("abc")));
  expect(await fileErrorOf(writing)).toBe(
    'no_space: "a" cannot be written: no space is left on the device, free some and try again (ENOSPC)',
  );
});

test("chunks are written one after the other, and asked for when the last one is written", async () => {
  await using folder = await temporaryFolder();
  await using handle = await open(folder.at("a"), "wx");
  const sizes: number[] = [];
  await writeChunks(
    "x",
    handle,
    (async function* () {
      for (const text of ["ab", "", "cde"]) {
        sizes.push((await handle.stat()).size);
        yield Buffer.from(text);
      }
    })(),
  );
  expect(sizes).toEqual([0, 2, 2]);
  expect(await readFile(folder.at("a"), "utf8")).toBe("abcde");
});
