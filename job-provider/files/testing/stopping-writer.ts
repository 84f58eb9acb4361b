import { createContentStore } from "../content-store.ts";
import { revisionStoreAt } from "../create-file-revision-store.ts";
import { contentOf, filesOf } from "./content-of.ts";

/** A write that stops for ever after some of its steps. */
export interface StoppingWrite {
  readonly kind: "put" | "seal";
  readonly directory: string;
  /** How many steps are done, 0: in the middle of the stream. */
  readonly steps: number;
}

// All writes at once, each in a store of its own. Prints a line for each that has stopped, and waits to be killed.
const { writes, text } = JSON.parse(process.argv[2] as string) as { writes: StoppingWrite[]; text: string };
/** What waits for ever stays reachable: a file handle that were collected with it would end the process before it is killed. */
const held: unknown[] = [];
setInterval(() => {}, 60_000);
await Promise.all(
  writes.map(async (write) => {
    let done = 0;
    const stop = (step: string): Promise<never> => {
      console.log(`${write.kind} ${write.steps} ${step}`);
      return new Promise<never>((resolve) => held.push(resolve));
    };
    const onStep = async (step: string): Promise<void> => {
      done += 1;
      if (done === write.steps) await stop(step);
    };
    const content = contentOf(text);
    const open = async function* (): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of content.open()) {
        yield chunk;
        if (write.steps === 0) await stop("streaming");
      }
    };
    if (write.kind === "put") await createContentStore(write.directory, onStep).put(content, open);
    else {
      const files = filesOf({ "/a": text }).map((file) => ({ ...file, open }));
      const options = { directory: write.directory, authorityId: "acme" };
      await revisionStoreAt(options, onStep).seal({ workspaceId: "bridge", files });
    }
  }),
);
