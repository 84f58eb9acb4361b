import { once } from "node:events";
import {
  defineConfiguration,
  defineJobCommand,
  defineJobProvider,
  defineJobQuery,
  type JobAttemptServices,
  type JobProviderDescriptor,
} from "lenso-jobs-plugin/job-provider";
import { z } from "zod";

const configuration = defineConfiguration({
  id: "counter",
  version: "1",
  schema: z.strictObject({
    unit: z.enum(["bytes", "lines"]),
    ending: z.enum(["end", "throw", "hold", "linger"]),
  }),
  defaults: { unit: "bytes", ending: "end" },
});
const count = z.strictObject({ count: z.number() });

interface Count {
  readonly unit: "bytes" | "lines";
  readonly ending: "end" | "throw" | "hold" | "linger";
}

/**
 * Counts the bytes or lines of the selected files. It ends, throws, or holds until its signal aborts, as its configuration says; one that lingers
 * holds, and leaves a timer behind that keeps its process.
 */
async function countFiles(
  { unit, ending }: Count,
  { workspace, reportProgress, writeLog, publishArtifact, signal }: JobAttemptServices<"count">,
): Promise<{ count: number }> {
  let counted = 0;
  const files = await workspace.list();
  for (const [index, { path, length }] of files.entries()) {
    await reportProgress({ phase: "count", completed: index + 1, total: files.length });
    counted +=
      unit === "bytes" ? length : new TextDecoder().decode(await workspace.read(path)).split("\n").length;
  }
  await writeLog({ level: "info", message: `${files.length} files\u001B[31m` });
  if (ending === "linger") setInterval(() => undefined, 60_000);
  if ((ending === "hold" || ending === "linger") && !signal.aborted) await once(signal, "abort");
  signal.throwIfAborted();
  if (ending === "throw") throw new Error(["CANARY", "thrown"].join("-"));
  await workspace.write("out/count.txt", String(counted));
  await publishArtifact({ role: "count", path: "out/count.txt", mediaType: "text/plain" });
  return { count: counted };
}

let calls = 0;

/** The same work twice: one provider begins again after a lost attempt, the other asks a person. */
export function counters(): readonly JobProviderDescriptor[] {
  const shared = {
    kind: "count",
    kindVersion: 1,
    version: "1.0.0",
    configuration,
    resultSchema: count,
    queries: [
      defineJobQuery({
        name: "echo",
        inputSchema: z.strictObject({ text: z.string() }),
        resultSchema: z.strictObject({ text: z.string(), state: z.string() }),
        execute: async ({ input, snapshot }) => ({ text: input.text, state: snapshot.state }),
      }),
    ],
    commands: [
      defineJobCommand({
        name: "number",
        replayPolicy: "replay-safe",
        inputSchema: z.strictObject({}),
        resultSchema: z.number(),
        execute: async () => {
          calls += 1;
          return calls;
        },
      }),
    ],
  } as const;
  return [
    defineJobProvider({
      ...shared,
      id: "restart",
      artifacts: [{ role: "count", mediaTypes: ["text/plain"], minimum: 1, maximum: 1 }],
      recovery: { mode: "restart-from-input" },
      execute: ({ configuration: given }, services) => countFiles(given, services),
    })(),
    defineJobProvider({
      ...shared,
      id: "reconcile",
      artifacts: [{ role: "count", mediaTypes: ["text/plain"], minimum: 0, maximum: 1 }],
      recovery: { mode: "reconcile-external-effect" },
      execute: ({ configuration: given }, services) => countFiles(given, services),
    })(),
  ];
}
