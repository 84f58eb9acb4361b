import { batchCalls } from "../../../tasks/batch-calls.ts";
import type { JobAttemptServices, JobLogEntry } from "../../provider/attempt-services.ts";
import type { AttemptDeps } from "./attempt-deps.ts";
import { checkLogEntry } from "./check-log-entry.ts";
import { type Rate, RateLimit } from "./rate-limit.ts";
import { appendLog } from "./records/append-log.ts";

/** The log of one attempt. */
export interface LogWriter {
  readonly writeLog: JobAttemptServices["writeLog"];
  /** A line of the host's own, which no rate holds back, also once the provider has returned. @throws JobAttemptOver */
  say(entry: JobLogEntry): Promise<void>;
  /** Says how many lines were dropped since the last one. Never rejects. */
  flush(): Promise<void>;
}

/** How many lines an attempt may write: what is more is dropped and counted. */
export const logRate: Rate = { burst: 500, perSecond: 100 };

/** As many lines as one statement takes. */
const batchSize = 100;

/**
 * Writes lines in order; those that come while some are being written share the next statement. A line that the database does not take is
 * dropped: trouble is told to the host and never disturbs the provider.
 */
export function createLogWriter(
  deps: Pick<AttemptDeps, "fence" | "gate" | "records" | "trouble" | "logLimit">,
  now?: () => number,
): LogWriter {
  const { fence, gate, records, trouble, logLimit } = deps;
  const rate = new RateLimit(logRate, now);
  const write = batchCalls(async (entries: readonly JobLogEntry[]): Promise<readonly boolean[]> => {
    let held = true;
    try {
      held = await appendLog(records, fence, entries, logLimit);
      trouble.ends("log");
    } catch (error) {
      trouble.begins("log", error);
    }
    return entries.map(() => held);
  }, batchSize);
  const append = async (entry: JobLogEntry): Promise<void> => {
    if (!(await write(entry))) gate.lose();
  };
  const tellRefused = (): Promise<void> | undefined => {
    const refused = rate.takeRefused();
    if (refused === 0) return undefined;
    return append({
      level: "warn",
      message: `${refused} lines were dropped here: an attempt writes at most ${logRate.perSecond} a second`,
    });
  };
  return {
    writeLog: (entry) =>
      gate.run(async () => {
        const checked = checkLogEntry(entry);
        if (!rate.take()) return;
        await Promise.all([tellRefused(), append(checked)]);
      }),
    say: append,
    async flush() {
      await Promise.resolve(tellRefused()).catch(() => undefined); // the attempt is over: nobody reads its last words
    },
  };
}
