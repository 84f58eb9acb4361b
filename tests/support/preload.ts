import { afterAll, setDefaultTimeout } from "bun:test";
import { runAfterTestFile } from "./after-test-file.ts";

setDefaultTimeout(20_000);
afterAll(runAfterTestFile, 30_000);
