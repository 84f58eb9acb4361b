import { z } from "zod";
import {
  defineConfiguration,
  defineJobProvider,
  type JobProviderDescriptor,
} from "../../../job-provider/index.ts";

/** One mebibyte, whose end does not look like its beginning. */
const mebibyte: Uint8Array = Buffer.alloc(2 ** 20, "0123456789abcde");

/** A provider whose one artifact is as large as its configuration says, and is written piece by piece. */
export function bulkProvider(): JobProviderDescriptor {
  return defineJobProvider({
    id: "bulk",
    kind: "bulk",
    kindVersion: 1,
    version: "1",
    configuration: defineConfiguration({
      id: "bulk",
      version: "1",
      schema: z.object({ mebibytes: z.number().int().positive() }),
    }),
    resultSchema: z.object({ length: z.number() }),
    artifacts: [{ role: "bulk", mediaTypes: ["application/octet-stream"], minimum: 1, maximum: 1 }],
    recovery: { mode: "restart-from-input" },
    async execute({ configuration: { mebibytes } }, { workspace, publishArtifact }) {
      await workspace.write("bulk.bin", pieces(mebibytes));
      const { length } = await publishArtifact({
        role: "bulk",
        path: "bulk.bin",
        mediaType: "application/octet-stream",
      });
      return { length };
    },
  })();
}

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield mebibyte;
}
