import { refuse } from "../../canonical/pointer-text.ts";
import { readRecord } from "../../canonical/read-record.ts";
import type { JobLogEntry } from "../../provider/attempt-services.ts";
import { readText } from "./read-text.ts";

/** An owned, frozen line within its bounds. @throws TypeError naming the field */
export function checkLogEntry(entry: unknown): JobLogEntry {
  const { level, message } = readRecord({ value: entry, at: ["log"] }, ["level", "message"]);
  const known = levels.find((each) => each === level.value);
  if (known === undefined) return refuse(level.at, `expected one of ${levels.join(", ")}`);
  return Object.freeze({ level: known, message: readText(message, 0, 4096) });
}

const levels: readonly JobLogEntry["level"][] = ["debug", "info", "warn", "error"];
