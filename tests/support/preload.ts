import { afterAll, setDefaultTimeout } from "bun:test";
import { runAfterTestFile } from "./after-test-file.ts";

setDefaultTimeout(30_000);
afterAll(runAfterTestFile, 60_000);
