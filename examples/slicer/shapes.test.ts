import { expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildMesh } from "./mesh/build-mesh.ts";
import { checkMesh } from "./mesh/check-mesh.ts";
import { readStl } from "./stl/read-stl.ts";

/** What each file is: the start of its digest, its form, its triangles, and whether it bounds a body. */
const expected = {
  "broken.stl": ["45c2c1afcbee93b1", "text", 11, false],
  "cube.stl": ["97d35ca423cafd49", "text", 12, true],
  "sphere.stl": ["8feefd1419f1a2a6", "binary", 9024, true],
  "torus.stl": ["de91340fad7142b5", "binary", 102_400, true],
  "touching.stl": ["92da8cfe01f7f7a6", "text", 24, false],
};

test("the command writes the models, the same bytes each time, and they are what their names say", async () => {
  const folder = await mkdtemp(join(tmpdir(), "slicer-shapes-"));
  try {
    const command = [process.execPath, "run", "--cwd", import.meta.dir, "shapes", folder];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
    const output = await new Response(child.stdout).text();
    expect(await child.exited).toBe(0);
    const found: Record<string, unknown> = {};
    for (const name of (await readdir(folder)).sort()) {
      const file = Bun.file(join(folder, name));
      const digest = new Bun.CryptoHasher("sha256").update(await file.bytes()).digest("hex");
      const model = await readStl(file.stream());
      found[name] = [digest.slice(0, 16), model.format, model.count, checkMesh(buildMesh(model)).closed];
      expect(output).toContain(`${name}: ${file.size} bytes`);
    }
    expect(found).toEqual(expected);
  } finally {
    await rm(folder, { recursive: true });
  }
});
