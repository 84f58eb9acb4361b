import { createHash } from "node:crypto";
import { createFileArtifactStore } from "../create-file-artifact-store.ts";
import { givenWorkspace } from "./given-workspace.ts";

// Takes a large file through a workspace and a store, and prints by how many MiB the process grew at most, and what came out.
const { mebibytes } = JSON.parse(process.argv[2] as string) as { mebibytes: number };
await using scene = await givenWorkspace();
const store = createFileArtifactStore({ directory: scene.folder.at("artifacts") });
const mebibyte = Buffer.alloc(1_048_576, "0123456789abcde");

const take = async (path: string, size: number): Promise<string> => {
  await scene.files.write(
    path,
    (async function* () {
      for (let index = 0; index < size; index++) {
        note();
        yield mebibyte;
      }
    })(),
  );
  const source = await scene.attempt.source(path);
  note();
  await store.put(source, async function* () {
    for await (const chunk of source.open()) {
      note();
      yield chunk;
    }
  });
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of (await store.read(source)) ?? []) {
    note();
    hash.update(chunk);
    length += chunk.byteLength;
  }
  if (`sha256:${hash.digest("hex")}` !== source.digest) throw new Error("other bytes came out");
  return `${length}`;
};

let peak = 0;
const note = (): void => {
  peak = Math.max(peak, process.memoryUsage.rss());
};
await take("warm-up", 32);
const before = peak;
const length = await take("large", mebibytes);
console.log(
  JSON.stringify({ length: Number(length), grownMebibytes: Math.round((peak - before) / 1_048_576) }),
);
