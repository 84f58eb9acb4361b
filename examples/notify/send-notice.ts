import type { JobProviderAttemptServices, JobProviderExecuteInput } from "lenso-jobs-plugin/job-provider";
import { type Delivery, findNotice, type Notice, postNotice } from "./notice-board.ts";
import type { NotifyResult, NotifySettings } from "./notify-schemas.ts";

/** Bytes of the longest text. */
const TEXT_LIMIT = 64 * 1024;

/** A notice that was not delivered, or of which nobody knows. The job's log says which. */
export class NoticeNotDelivered extends Error {
  override readonly name = "NoticeNotDelivered";
}

/**
 * The one attempt: posts the notice, and looks whether it is there when the answer does not say. It completes with a receipt or not at all. Should
 * it be broken off after it was entered, no other one follows by itself.
 */
export async function sendNotice(
  receiver: URL,
  { input, configuration }: JobProviderExecuteInput<NotifySettings>,
  services: JobProviderAttemptServices,
): Promise<NotifyResult> {
  const { signal, writeLog } = services;
  const limits = { signal, timeoutMs: configuration.timeoutMs };
  const notice: Notice = {
    reference: services.job.jobId,
    attempt: services.attemptId,
    subject: configuration.subject,
    text: await readText(input.paths, services),
  };
  let delivery: Delivery = await postNotice(receiver, notice, limits);
  if (delivery.known === "unknown") {
    await writeLog({ level: "warn", message: `${delivery.why}: looking whether the notice is there` });
    delivery = await findNotice(receiver, notice.reference, limits);
  }
  if (delivery.known === "delivered") return { receipt: delivery.receipt };
  const message =
    delivery.known === "refused"
      ? `not delivered: ${delivery.why}`
      : `delivered or not, nobody knows: ${delivery.why}. Look there for ${notice.reference} before sending it again`;
  await writeLog({ level: "error", message });
  throw new NoticeNotDelivered(message);
}

async function readText(
  paths: readonly string[],
  { workspace, writeLog }: Pick<JobProviderAttemptServices, "workspace" | "writeLog">,
): Promise<string> {
  const [path, ...others] = paths;
  const file = path === undefined || others.length > 0 ? undefined : await workspace.stat(path.slice(1));
  if (file !== undefined && file.length <= TEXT_LIMIT)
    return new TextDecoder().decode(await workspace.read(file.path));
  const message = `not delivered: expected one file of at most ${TEXT_LIMIT} bytes, got ${paths.length} of ${file?.length ?? "unknown"}`;
  await writeLog({ level: "error", message });
  throw new NoticeNotDelivered(message);
}
