import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { digestOf, type JobReadableArtifact } from "../../job-provider/index.ts";
import { testFolder } from "../testing/job-command-world.ts";
import { downloadArtifacts } from "./download-artifacts.ts";

const { signal } = new AbortController();

function artifact(
  path: string,
  { role = "any", bytes = path }: { role?: string; bytes?: string } = {},
): JobReadableArtifact {
  async function* read() {
    yield new TextEncoder().encode(bytes);
  }
  return { id: path, role, path, mediaType: "text/plain", length: path.length, digest: digestOf(path), read };
}

test("files have their names once they are verified", async () => {
  const folder = join(testFolder(), "new");
  await downloadArtifacts([artifact("a.txt"), artifact("b/c.txt")], { folder, signal });
  expect(readFileSync(join(folder, "b/c.txt"), "utf8")).toBe("b/c.txt");
  const other = join(testFolder(), "other");
  const wrong = artifact("d.txt", { bytes: "e.txt" });
  await expect(downloadArtifacts([artifact("a.txt"), wrong], { folder: other, signal })).rejects.toThrow(
    "expected sha256:",
  );
  expect(readdirSync(other)).toEqual(["a.txt"]);
});

test.each(["../out", "/etc/x", "a/../../b", "a\\b", "a\u0000", ""])(
  "a path that leads out writes nothing: %j",
  async (path) => {
    const folder = join(testFolder(), "new");
    await expect(downloadArtifacts([artifact("fine"), artifact(path)], { folder, signal })).rejects.toThrow(
      "no file of the folder",
    );
    expect(() => readdirSync(folder)).toThrow("ENOENT");
  },
);

test("two roles with one path are told apart by the person, not by who comes last", async () => {
  const folder = join(testFolder(), "new");
  const both = [artifact("a", { role: "x" }), artifact("a", { role: "y" })];
  await expect(downloadArtifacts(both, { folder, signal })).rejects.toThrow("--role");
});

test("a folder with anything in it stays as it is", async () => {
  const folder = testFolder();
  mkdirSync(join(folder, "kept"));
  await expect(downloadArtifacts([artifact("a")], { folder, signal })).rejects.toThrow(
    "empty or does not exist",
  );
  expect(readdirSync(folder)).toEqual(["kept"]);
});

test("whatever path a workspace takes can be downloaded: globs and what looks like a scheme too", async () => {
  const folder = join(testFolder(), "new");
  const paths = ["frame[1].txt", "run:1.txt", "what?/*"];
  await downloadArtifacts(
    paths.map((path) => artifact(path)),
    { folder, signal },
  );
  for (const path of paths) expect(readFileSync(join(folder, path), "utf8")).toBe(path);
});

test("a path that is a folder of another one's is refused before anything is written", async () => {
  const folder = join(testFolder(), "new");
  const both = [artifact("a"), artifact("a/b")];
  await expect(downloadArtifacts(both, { folder, signal })).rejects.toMatchObject({ code: "artifact-path" });
  expect(() => readdirSync(folder)).toThrow("ENOENT");
});
