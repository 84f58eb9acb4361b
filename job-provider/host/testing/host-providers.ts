import { z } from "zod";
import { defineConfiguration } from "../../configuration/define-configuration.ts";
import type { JobAttemptServices } from "../../provider/attempt-services.ts";
import { defineJobCommand, type JobCommandCall } from "../../provider/define-job-command.ts";
import { defineJobProvider } from "../../provider/define-job-provider.ts";
import { defineJobQuery } from "../../provider/define-job-query.ts";
import type { JobProviderDescriptor } from "../../provider/job-provider-descriptor.ts";

/** What the providers of a test do; a test sets what it is about. */
export interface ProviderWork {
  /** The work of an attempt. Default: returns 7 cells. */
  execute(services: JobAttemptServices<"mesh">): Promise<{ readonly cells: number }>;
  /** What any of the three commands does. Default: counts its calls. */
  command(call: JobCommandCall): Promise<unknown>;
}

const cells = z.object({ cells: z.number() });

/** Two providers that differ in how they recover. `restart` needs a host with 8 cores or more when asked to be `demanding`. */
export function hostProviders(
  work: ProviderWork,
  { version = "1.0.0", demanding = false }: { readonly version?: string; readonly demanding?: boolean } = {},
): readonly JobProviderDescriptor[] {
  const configuration = defineConfiguration({
    id: "test",
    version: "1",
    schema: z.object({ cells: z.number().max(1000), label: z.string().optional() }),
    defaults: { cells: 100 },
  });
  const shared = {
    kind: "test",
    kindVersion: 1,
    version,
    configuration,
    resultSchema: cells,
    artifacts: [{ role: "mesh", mediaTypes: ["text/plain"], minimum: 0, maximum: 2 }],
    queries: [
      defineJobQuery({
        name: "about",
        inputSchema: z.object({ question: z.string() }),
        resultSchema: z.object({ state: z.string(), answer: z.string(), texts: z.array(z.string()) }),
        async execute({ input, snapshot, artifacts }) {
          if (input.question === "throw") throw new Error(["CANARY", "query"].join("-"));
          const texts = await Promise.all(artifacts.map(async ({ read }) => textOf(read())));
          const answer = input.question === "wrong" ? (7 as never) : input.question;
          return { state: snapshot.state, answer, texts };
        },
      }),
    ],
    commands: (["replay-safe", "reconcile-required", "non-replayable"] as const).map((replayPolicy) =>
      defineJobCommand({
        name: replayPolicy,
        inputSchema: z.object({ by: z.number() }),
        resultSchema: z.number(),
        replayPolicy,
        execute: (call) => work.command(call) as Promise<number>,
      }),
    ),
  } as const;
  return [
    defineJobProvider({
      ...shared,
      id: "restart",
      requirements: demanding ? [{ key: "cores", condition: "at-least", value: 8 }] : [],
      recovery: { mode: "restart-from-input" },
      execute: (_, services) => work.execute(services as never),
    })(),
    defineJobProvider({
      ...shared,
      id: "reconcile",
      recovery: { mode: "reconcile-external-effect" },
      execute: (_, services) => work.execute(services as never),
    })(),
  ];
}

/** The whole of a stream as a text. */
export async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += new TextDecoder().decode(chunk);
  return text;
}
