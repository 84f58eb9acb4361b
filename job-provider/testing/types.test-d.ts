// Checked by tsc: what the definitions infer, and what must not compile.
import { expectTypeOf } from "bun:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import {
  defineConfiguration,
  defineJobCommand,
  defineJobProvider,
  defineJobQuery,
  type JobProviderFactory,
  type JobProviderResumeContext,
  type JobRevision,
  type JobSubmitOutcome,
  withJsonSchema,
} from "../index.ts";
import { type ExpandPluginJobs, expandPluginJobs } from "../plugin/index.ts";

const configuration = defineConfiguration({
  id: "mesh-configuration",
  version: "1",
  schema: z.object({ cells: z.string().transform(Number), seed: z.number().nullable() }),
  defaults: { seed: null },
});

defineConfiguration({
  id: "wrong-default",
  version: "1",
  schema: z.object({ seed: z.number() }),
  // @ts-expect-error a default is of the schema's input
  defaults: { seed: "3" },
});

// @ts-expect-error a Valibot schema does not say itself as a JSON Schema
defineConfiguration({ id: "no-json-schema", version: "1", schema: v.object({ seed: v.number() }) });
defineConfiguration({
  id: "explicit-json-schema",
  version: "1",
  schema: withJsonSchema(v.object({ seed: v.number() }), { input: () => ({ type: "object" }) }),
  defaults: { seed: 1 },
});

const status = defineJobQuery({
  name: "status",
  inputSchema: type({ verbose: "boolean" }),
  resultSchema: z.object({ phase: z.string() }),
  execute: ({ input, snapshot }) => {
    expectTypeOf(input).toEqualTypeOf<{ verbose: boolean }>();
    return { phase: snapshot.state };
  },
});
expectTypeOf(status.name).toEqualTypeOf<"status">();

defineJobQuery({
  name: "wrong-result",
  inputSchema: z.null(),
  resultSchema: z.object({ phase: z.string() }),
  // @ts-expect-error the raw result has another type
  execute: () => ({ phase: 3 }),
});

const stop = defineJobCommand({
  name: "stop-early",
  inputSchema: toStandardJsonSchema(v.object({ after: v.pipe(v.string(), v.transform(Number)) })),
  resultSchema: z.boolean(),
  replayPolicy: "replay-safe",
  execute: async ({ input, commandId }) => {
    expectTypeOf(input).toEqualTypeOf<{ after: number }>();
    expectTypeOf(commandId).toEqualTypeOf<string>();
    return true;
  },
});
expectTypeOf(stop.name).toEqualTypeOf<"stop-early">();
expectTypeOf(stop.replayPolicy).toEqualTypeOf<"replay-safe">();

defineJobCommand({
  name: "wrong-policy",
  inputSchema: z.null(),
  resultSchema: z.null(),
  // @ts-expect-error no such policy
  replayPolicy: "sometimes",
  execute: () => null,
});

const rest = {
  kind: "mesh",
  kindVersion: 1,
  version: "1.0.0",
  configuration,
  resultSchema: z.object({ cells: z.string().transform(Number) }),
} as const;

const mesh = defineJobProvider({
  ...rest,
  id: "mesh",
  artifacts: [
    { role: "mesh", mediaTypes: ["model/vtk"], minimum: 1, maximum: 1 },
    { role: "report", mediaTypes: ["text/plain"], minimum: 0, maximum: 4 },
  ],
  recovery: { mode: "restart-from-input" },
  queries: [status],
  commands: [stop],
  execute: async (call, services) => {
    expectTypeOf(call.configuration).toEqualTypeOf<{ cells: number; seed: number | null }>();
    expectTypeOf(services.signal).toEqualTypeOf<AbortSignal>();
    const artifact = await services.publishArtifact({
      role: "report",
      path: "a.txt",
      mediaType: "text/plain",
    });
    expectTypeOf(artifact.role).toEqualTypeOf<"report">();
    // @ts-expect-error no such role
    await services.publishArtifact({ role: "picture", path: "a.png", mediaType: "image/png" });
    // @ts-expect-error only a checkpoint provider publishes checkpoints
    void services.publishCheckpoint;
    // @ts-expect-error and only a checkpoint provider resumes
    void call.resume;
    return { cells: "3" };
  },
});
expectTypeOf(mesh().id).toEqualTypeOf<"mesh">();
expectTypeOf(mesh).toExtend<JobProviderFactory>();

const solver = defineJobProvider({
  ...rest,
  id: "solver",
  recovery: {
    mode: "checkpoint",
    format: "state",
    formatVersion: 2,
    metadataSchema: z.object({ step: z.string().transform(Number) }),
    compatible: (metadata) => {
      expectTypeOf(metadata).toEqualTypeOf<{ step: number }>();
      return metadata.step > 0;
    },
  },
  execute: async ({ resume }, services) => {
    expectTypeOf(resume).toEqualTypeOf<JobProviderResumeContext<{ step: number }> | undefined>();
    const revision = await services.publishCheckpoint({ paths: ["a"], metadata: { step: "3" } });
    expectTypeOf(revision).toEqualTypeOf<JobRevision>();
    // @ts-expect-error the metadata is the schema's input
    await services.publishCheckpoint({ paths: ["a"], metadata: { step: 3 }, parent: revision });
    // @ts-expect-error no artifact is declared
    await services.publishArtifact({ role: "mesh", path: "a", mediaType: "a/b" });
    return { cells: "3" };
  },
});

defineJobProvider({
  ...rest,
  id: "transformed-result",
  recovery: { mode: "reconcile-external-effect" },
  // @ts-expect-error the raw result, not what the schema makes of it
  execute: () => ({ cells: 3 }),
});

defineJobProvider({
  ...rest,
  id: "no-result",
  recovery: { mode: "restart-from-input" },
  // @ts-expect-error nothing is not a result
  execute: () => {},
});

defineJobProvider({
  ...rest,
  id: "half-a-checkpoint",
  // @ts-expect-error a checkpoint has a format and metadata
  recovery: { mode: "checkpoint", format: "state" },
  execute: () => ({ cells: "3" }),
});

const meshPlugin = { id: "mesh-plugin", jobs: [mesh()] } as const;
const quietPlugin = { id: "quiet-plugin" } as const;
const solverPlugin = { id: "solver-plugin", jobs: [solver(), mesh()] } as const;
type Expanded = ExpandPluginJobs<readonly [typeof meshPlugin, typeof quietPlugin, typeof solverPlugin]>;
expectTypeOf<Expanded>().toEqualTypeOf<
  readonly [ReturnType<typeof mesh>, ReturnType<typeof solver>, ReturnType<typeof mesh>]
>();
const expand = (): void => {
  const [first, second] = expandPluginJobs([meshPlugin, quietPlugin, { id: "s", jobs: [solver()] }]);
  expectTypeOf(first.id).toEqualTypeOf<"mesh">();
  expectTypeOf(second.id).toEqualTypeOf<"solver">();
  // @ts-expect-error a plugin brings what the factory returned, not the factory
  expandPluginJobs([{ id: "factories", jobs: [mesh] }]);
};

declare const outcome: JobSubmitOutcome;
expectTypeOf(outcome.hostId).toEqualTypeOf<string>();
if (outcome.status === "accepted") expectTypeOf(outcome.deduplicated).toEqualTypeOf<boolean>();

void expand;
