import { createFileArtifactStore } from "../create-file-artifact-store.ts";
import { createFileRevisionStore } from "../create-file-revision-store.ts";
import { competingTexts } from "./competing-texts.ts";
import { contentOf, filesOf } from "./content-of.ts";

// Puts and seals the same as any other of these, as soon as its standard input ends.
const { artifacts, revisions, count } = JSON.parse(process.argv[2] as string) as {
  artifacts: string;
  revisions: string;
  count: number;
};
const texts = competingTexts(count);
const artifactStore = createFileArtifactStore({ directory: artifacts });
const revisionStore = createFileRevisionStore({ directory: revisions, authorityId: "acme" });
console.log("ready");
await Bun.stdin.text();
await Promise.all(
  texts.map(async (text) => {
    const content = contentOf(text);
    await artifactStore.put(content, content.open);
  }),
);
const files = filesOf(Object.fromEntries(texts.map((text, index) => [`/${index}`, text])));
const { revisionId } = await revisionStore.seal({ workspaceId: "bridge", files });
console.log(revisionId);
