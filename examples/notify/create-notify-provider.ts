import { defineJobProvider, defineJobQuery, type JobProviderFactory } from "lenso-jobs-plugin/job-provider";
import { findNotice } from "./notice-board.ts";
import { nothing, noticeFound, notifyConfiguration, notifyResult } from "./notify-schemas.ts";
import { sendNotice } from "./send-notice.ts";

/** Whom the notices go to. */
export interface NotifyProviderOptions {
  /** The URL below which the receiver has its `notices`. Ends with a slash unless it is a host alone. */
  readonly receiver: URL;
}

/**
 * A provider that posts a text to a receiver that takes each post as another notice. Once an attempt has been entered and lost, its job asks for
 * attention, and `notice` tells the person what the receiver has.
 */
export function createNotifyProvider({
  receiver,
}: NotifyProviderOptions): JobProviderFactory<{ readonly id: "examples/notify" }> {
  return defineJobProvider({
    id: "examples/notify",
    kind: "notify",
    kindVersion: 1,
    version: "1.0.0",
    configuration: notifyConfiguration,
    resultSchema: notifyResult,
    recovery: { mode: "reconcile-external-effect" },
    queries: [
      /** The receipt of the job's notice, or null when the receiver does not say that it has it. */
      defineJobQuery({
        name: "notice",
        inputSchema: nothing,
        resultSchema: noticeFound,
        async execute({ snapshot, signal }) {
          const limits = { signal, timeoutMs: LOOK_MS };
          const found = await findNotice(receiver, snapshot.reference.jobId, limits);
          return { receipt: found.known === "delivered" ? found.receipt : null };
        },
      }),
    ],
    execute: (input, services) => sendNotice(receiver, input, services),
  });
}

/** How long a look may take, in ms. */
const LOOK_MS = 10_000;
