import type { JobReference } from "../../../job-provider/index.ts";
import type { FaultWorld } from "./open-fault-world.ts";

/**
 * Does what a person does with each job that asks for attention: asks what the receiver has of it, completes it with the receipt, or queues it again.
 * Answers how many there were.
 */
export async function attendToAll(
  { host }: FaultWorld,
  references: readonly JobReference[],
): Promise<{ readonly completed: number; readonly requeued: number }> {
  const done = { completed: 0, requeued: 0 };
  for (const reference of references) {
    const job = await host.get(reference);
    if (job?.state !== "attention_required") continue;
    const answer = await host.query(reference, "notice", { value: {} });
    if (!answer.ok) throw new Error(`the receiver cannot be asked: ${answer.code}`);
    const { receipt } = answer.value as { readonly receipt: string | null };
    done[receipt === null ? "requeued" : "completed"] += 1;
    const outcome = await host.resolveAttention(reference, {
      expectedRevision: job.revision,
      ...(receipt === null ? { action: "requeue" } : { action: "complete", result: { receipt } }),
    });
    if (!outcome.ok) throw new Error(`the decision is refused: ${outcome.code}`);
  }
  return done;
}
