import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { defineJobCommand, type JobCommandDefinition, type JobSchema } from "lenso-jobs-plugin/job-provider";
import * as v from "valibot";
import { findLayer, layerNumber, readText } from "./layer-query.ts";
import type { Workshop } from "./workshop.ts";

type NoteInput = { layer: number; text: string };
type NoteResult = { noteId: string };
type ProofInput = { layer: number };
type ProofResult = { printed: boolean };
type AnnounceInput = { text: string };

/** What can be asked of a job while it is not over, each with the replay policy that its effect allows. */
export type WorkshopCommands = readonly [
  JobCommandDefinition<"note-layer", JobSchema<NoteInput>, JobSchema<NoteResult>, "replay-safe">,
  JobCommandDefinition<"print-proof", JobSchema<ProofInput>, JobSchema<ProofResult>, "reconcile-required">,
  JobCommandDefinition<"announce", JobSchema<AnnounceInput>, JobSchema<null>, "non-replayable">,
];

const text = v.pipe(v.string(), v.minLength(1), v.maxLength(500));

/** The slicer's commands on a workshop. */
export function workshopCommands(workshop: Workshop): WorkshopCommands {
  return [
    /** Keeps a note about a layer, under the command's own id: run again, it keeps the same note. */
    defineJobCommand({
      name: "note-layer",
      replayPolicy: "replay-safe",
      inputSchema: toStandardJsonSchema(v.strictObject({ layer: layerNumber, text })),
      resultSchema: toStandardJsonSchema(v.strictObject({ noteId: v.string() })),
      async execute({ input, commandId, snapshot, signal }) {
        signal.throwIfAborted();
        await workshop.keepNote({ id: commandId, jobId: snapshot.reference.jobId, ...input });
        return { noteId: commandId };
      },
    }),
    /** Prints a layer that has been cut. Whether the printer got it, after a crash, somebody has to look: material is at stake. */
    defineJobCommand({
      name: "print-proof",
      replayPolicy: "reconcile-required",
      inputSchema: toStandardJsonSchema(v.strictObject({ layer: layerNumber })),
      resultSchema: toStandardJsonSchema(v.strictObject({ printed: v.boolean() })),
      async execute({ input, snapshot, artifacts, signal }) {
        const artifact = findLayer(artifacts, input.layer);
        if (artifact === undefined) return { printed: false };
        const drawing = await readText(artifact, signal);
        signal.throwIfAborted();
        await workshop.printProof({ jobId: snapshot.reference.jobId, layer: input.layer, drawing });
        return { printed: true };
      },
    }),
    /** Tells everybody who follows. A second time would be a nuisance, and a lost one is not worth a person's time: a new one is a new command. */
    defineJobCommand({
      name: "announce",
      replayPolicy: "non-replayable",
      inputSchema: toStandardJsonSchema(v.strictObject({ text })),
      resultSchema: toStandardJsonSchema(v.null()),
      async execute({ input, snapshot, signal }) {
        signal.throwIfAborted();
        await workshop.announce({ jobId: snapshot.reference.jobId, text: input.text });
        return null;
      },
    }),
  ];
}
