import { expect, test } from "bun:test";
import { z } from "zod";
import { defineConfiguration } from "../../configuration/define-configuration.ts";
import { defineJobProvider, runnableJobProvider } from "../../provider/define-job-provider.ts";
import type { HostParts } from "../host-parts.ts";
import { leaseSeconds } from "../testing/job-host-composition.ts";
import { type AttemptWorld, claimOne, enter, openAttemptWorld, workOne } from "./testing/attempt-world.ts";

interface Seen {
  readonly asked: unknown[];
  readonly resumed: unknown[];
}

/** The provider of the id `checkpoint` in another version, and what it gets to see of checkpoints. */
function nextVersion(
  world: AttemptWorld,
  recovery: { readonly format: string; readonly formatVersion: number; readonly metadataSchema: z.ZodType },
): Seen & Pick<HostParts, "providers"> {
  const asked: unknown[] = [];
  const resumed: unknown[] = [];
  const descriptor = defineJobProvider({
    id: "checkpoint",
    kind: "test",
    kindVersion: 1,
    version: "2.0.0",
    configuration: defineConfiguration({ id: "test", version: "2", schema: z.object({}) }),
    resultSchema: z.object({ cells: z.number() }),
    recovery: {
      mode: "checkpoint",
      ...recovery,
      compatible(metadata: unknown) {
        asked.push(metadata);
        return true;
      },
    } as never,
    async execute({ resume }: { readonly resume?: { readonly metadata: unknown } }) {
      resumed.push(resume?.metadata);
      return { cells: 1 };
    },
  } as never)() as never;
  const own = new Map(world.parts().providers);
  own.set("checkpoint", { descriptor, runnable: runnableJobProvider(descriptor) });
  return { asked, resumed, providers: own };
}

/** A job with the checkpoint `{ step: 1 }` in the format steps, version 1, whose attempt is lost. */
async function givenCheckpoint(world: AttemptWorld): Promise<string> {
  const id = await world.accept("checkpoint", async (_, services) => {
    await services.workspace.write("state", "1");
    await services.publishCheckpoint({ paths: ["state"], metadata: { step: 1 } });
    return { cells: 0 };
  });
  const backend = world.backend();
  await enter(backend, await claimOne(backend));
  await world.advance(leaseSeconds + 1);
  return id;
}

test.each([
  ["another format", { format: "frames", formatVersion: 1, metadataSchema: z.object({ step: z.number() }) }],
  ["another version of it", { format: "steps", formatVersion: 2, metadataSchema: z.object({}) }],
  [
    "metadata that it refuses",
    { format: "steps", formatVersion: 1, metadataSchema: z.object({ frame: z.string() }) },
  ],
  [
    "metadata for which its schema throws",
    {
      format: "steps",
      formatVersion: 1,
      metadataSchema: z.object({
        step: z.number().transform((): number => {
          throw new Error("a bug of the schema");
        }),
      }),
    },
  ],
])(
  "a version of a provider never hears of a checkpoint in %s, and begins at the input",
  async (_, recovery) => {
    await using world = await openAttemptWorld();
    const id = await givenCheckpoint(world);
    const { asked, resumed, providers } = nextVersion(world, recovery);
    const backend = world.backend({ providers });
    await workOne(backend, await claimOne(backend));
    expect([asked, resumed]).toEqual([[], [undefined]]);
    expect(await world.row(id)).toMatchObject({ state: "completed", resumed_from: null });
  },
);

test("a provider resumes with what its own schema makes of the metadata that was given", async () => {
  await using world = await openAttemptWorld();
  const id = await givenCheckpoint(world);
  const metadataSchema = z.object({ step: z.number().transform((step) => `step ${step}`) });
  const { asked, resumed, providers } = nextVersion(world, {
    format: "steps",
    formatVersion: 1,
    metadataSchema,
  });
  const backend = world.backend({ providers });
  await workOne(backend, await claimOne(backend));
  expect([asked, resumed]).toEqual([[{ step: "step 1" }], [{ step: "step 1" }]]);
  expect(await world.row(id)).toMatchObject({ state: "completed", resumed_from: 1 });
});
