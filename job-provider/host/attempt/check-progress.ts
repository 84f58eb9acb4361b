import { refuse } from "../../canonical/pointer-text.ts";
import { type Member, readRecord } from "../../canonical/read-record.ts";
import type { JobProgressUpdate } from "../../provider/attempt-services.ts";
import { readText } from "./read-text.ts";

/** An owned, frozen update within its bounds. @throws TypeError naming the field */
export function checkProgress(update: unknown): JobProgressUpdate {
  const fields = readRecord(
    { value: update, at: ["progress"] },
    ["phase"],
    ["completed", "total", "message"],
  );
  const completed = fields.completed && readAmount(fields.completed);
  const total = fields.total && readAmount(fields.total);
  if (fields.completed && completed !== undefined && total !== undefined && completed > total)
    return refuse(fields.completed.at, "expected no more than the total");
  const phase = readText(fields.phase, 1, 128);
  const message = fields.message && readText(fields.message, 0, 1024);
  return Object.freeze({
    phase,
    ...(completed === undefined ? {} : { completed }),
    ...(total === undefined ? {} : { total }),
    ...(message === undefined ? {} : { message }),
  });
}

/** −0 becomes 0. */
function readAmount({ value, at }: Member): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0
    ? value + 0
    : refuse(at, "expected a finite number from 0");
}
