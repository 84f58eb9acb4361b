import { maxPayloadBytes } from "./job-store.ts";

/** Payload bytes of one answer. A lease runs while its answer is on the way, so an answer must not take long. */
export const maxAnswerBytes: number = 8 * 1024 * 1024;
/** So many jobs fit an answer, however large their payloads are. */
export const jobsThatFit: number = maxAnswerBytes / maxPayloadBytes;
/** Payloads of this size fit an answer by the hundreds. */
const smallBytes = 32 * 1024;

/**
 * How many jobs of a queue one statement asks for. After an answer that was cut short, only as many as fit in any case: a claim holds
 * locked all that it looks at, and what it then leaves would be hidden from others meanwhile. All again, once payloads are small.
 */
export class AnswerSize {
  #few = false;

  atMost(wanted: number): number {
    return this.#few ? Math.min(wanted, jobsThatFit) : wanted;
  }

  /** Learns from the payloads of an answer, and from whether its size cut it short. */
  learn(jobs: readonly { readonly payload: string }[], cut: boolean): void {
    if (cut) this.#few = true;
    else if (this.#few && jobs.length > 0) {
      const bytes = jobs.reduce((sum, { payload }) => sum + payload.length, 0);
      this.#few = bytes / jobs.length > smallBytes;
    }
  }
}
