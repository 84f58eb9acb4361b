import { z } from "zod";
import { defineConfiguration } from "../../../configuration/define-configuration.ts";
import type { JobAttemptServices, JobCheckpointService } from "../../../provider/attempt-services.ts";
import { defineJobProvider } from "../../../provider/define-job-provider.ts";
import type { JobProviderDescriptor } from "../../../provider/job-provider-descriptor.ts";
import type { JobRecovery } from "../../../provider/job-recovery.ts";
import type { JobInput, JobRevision } from "../../../submission/job-submit-input.ts";

/** What the provider of a test was called with. */
export interface ProviderCall {
  readonly input: JobInput;
  readonly configuration: unknown;
  readonly resume?: { readonly revision: JobRevision; readonly metadata: { readonly step: number } };
}

export type TestServices = JobAttemptServices & JobCheckpointService;

/** What a job's provider does; a test says so, per job. */
export type Script = (call: ProviderCall, services: TestServices) => unknown;

/** The providers of the tests, by the name of what they are about. `strict` promises a mesh. */
export const testProviderIds = ["restart", "strict", "checkpoint", "reconcile"] as const;
export type TestProviderId = (typeof testProviderIds)[number];

/** Registrations of the test providers, whose work is the job's script. */
export function testProviders(
  scriptOf: (jobId: string) => Script,
  compatible: (metadata: { readonly step: number }) => boolean,
): readonly JobProviderDescriptor[] {
  const configuration = defineConfiguration({
    id: "test",
    version: "1",
    schema: z.object({ cells: z.number().optional() }),
  });
  const define = (id: TestProviderId, recovery: JobRecovery, minimum: number): JobProviderDescriptor =>
    defineJobProvider({
      id,
      kind: "test",
      kindVersion: 1,
      version: "1.0.0",
      configuration,
      resultSchema: z.object({ cells: z.number() }),
      artifacts: [
        { role: "mesh", mediaTypes: ["model/vtk", "text/plain"], minimum, maximum: 2 },
        { role: "report", mediaTypes: ["text/plain"], minimum: 0, maximum: 1 },
      ],
      recovery: recovery as never,
      execute: (call, services) =>
        scriptOf((services as TestServices).job.jobId)(
          call as ProviderCall,
          services as TestServices,
        ) as never,
    })();
  const checkpoint = {
    mode: "checkpoint",
    format: "steps",
    formatVersion: 1,
    metadataSchema: z.object({ step: z.number() }),
    compatible,
  } as unknown as JobRecovery;
  return [
    define("restart", { mode: "restart-from-input" }, 0),
    define("strict", { mode: "restart-from-input" }, 1),
    define("checkpoint", checkpoint, 0),
    define("reconcile", { mode: "reconcile-external-effect" }, 0),
  ];
}
