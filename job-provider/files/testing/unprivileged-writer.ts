import { createFileArtifactStore } from "../create-file-artifact-store.ts";
import { JobFileError } from "../job-file-error.ts";
import { contentOf } from "./content-of.ts";

// Puts a text as a user for whom permissions count, and prints what it is told.
const { directory, text } = JSON.parse(process.argv[2] as string) as { directory: string; text: string };
const content = contentOf(text);
const store = createFileArtifactStore({ directory });
if (process.geteuid?.() === 0) process.setuid?.(65_534);
await store.put(content, content.open).then(
  () => console.log("it was put"),
  (error: unknown) => console.log(error instanceof JobFileError ? `${error.code}: ${error.message}` : error),
);
