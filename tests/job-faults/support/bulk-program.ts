// Runs two jobs with one large artifact each in this process, reads what they published, and prints by how many MiB the second one took more
// memory than the first. Its one argument: the options of its host, the input's revision, and the second artifact's size in MiB.
import { createHash } from "node:crypto";
import type { JobRevision } from "../../../job-provider/index.ts";
import { bulkProvider } from "./bulk-provider.ts";
import { type FaultHostOptions, openFaultHost } from "./open-fault-host.ts";
import { watchMemory } from "./peak-memory.ts";

const { mebibytes, revision, ...options } = JSON.parse(process.argv[2] as string) as FaultHostOptions & {
  readonly mebibytes: number;
  readonly revision: JobRevision;
};

const provider = bulkProvider();
await using opened = await openFaultHost(options, [provider]);
using memory = watchMemory();
const { host } = opened;
host.startWorker();

/** Submits, awaits the end, and reads the artifact back: how many bytes came, and whether they are those that were published. */
async function take(size: number): Promise<{ readonly read: number; readonly isWhole: boolean }> {
  const { id, version, manifestDigest } = provider;
  const outcome = await host.submit({
    provider: { id, version, manifestDigest },
    input: { revision, paths: [] },
    configuration: { value: { mebibytes: size }, explicitPointers: ["/mebibytes"] },
    submissionKey: `bulk-${size}`,
  });
  if (outcome.status !== "accepted") throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
  await Array.fromAsync(host.watch(outcome.reference));
  const [artifact] = (await host.artifacts(outcome.reference)) ?? [];
  if (artifact === undefined)
    throw new Error(`ended with ${JSON.stringify(await host.result(outcome.reference))}`);
  const hash = createHash("sha256");
  let read = 0;
  for await (const chunk of artifact.read()) {
    memory.note();
    hash.update(chunk);
    read += chunk.byteLength;
  }
  const state = (await host.get(outcome.reference))?.state;
  return { read, isWhole: state === "completed" && `sha256:${hash.digest("hex")}` === artifact.digest };
}

await take(32);
const before = memory.mebibytes;
const taken = await take(mebibytes);
console.log(JSON.stringify({ ...taken, grownMebibytes: memory.mebibytes - before }));
