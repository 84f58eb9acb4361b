import { expect, test } from "bun:test";
import manifest from "../package.json" with { type: "json" };
import { packageVersion } from "./package-version.ts";

test("the version that the plugin reports is the package's", () => {
  expect(packageVersion).toBe(manifest.version);
});
