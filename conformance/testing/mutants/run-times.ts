import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import { rewriting } from "./endpoints.ts";
import type { Mutant } from "./mutant.ts";

/** A mutant that reads another requested time than was asked for. */
function reading(name: string, killer: string, change: (text: string) => string): Mutant {
  return rewriting(name, killer, (fields, operation) =>
    operation === "enqueue" && typeof fields["available_at"] === "string"
      ? { ...fields, available_at: change(fields["available_at"]) }
      : fields,
  );
}

const offsets = "a requested time of any offset means its instant";
const refused = "what is no timestamp, no date that exists, or outside the years 0001 to 9999 is refused";

/** Requested times that are read as others. */
export const runTimeMutants: readonly Mutant[] = [
  reading("an offset is ignored", offsets, (text) => text.replace(/[+-]\d\d:\d\d$/, "Z")),
  reading("a requested time is cut to milliseconds", offsets, (text) => text.replace(/(\.\d{3})\d+/, "$1")),
  reading("a requested time is rounded", "a requested time is cut to microseconds, not rounded", (text) =>
    text.endsWith(".9999999Z") ? addMilliseconds(`${text.slice(0, 19)}Z`, 1000) : text,
  ),
  reading("a day that does not exist is the next one", refused, (text) =>
    text.replace("2326-02-29", "2326-03-01"),
  ),
  reading("a time without an offset is in UTC", refused, (text) =>
    /T\d\d:\d\d:\d\d$/.test(text) ? `${text}Z` : text,
  ),
  reading("infinity is the last instant", refused, (text) =>
    text === "infinity" ? "9999-12-31T23:59:59Z" : text,
  ),
  reading("the year 0000 is as 0001", refused, (text) => text.replace(/^0000/, "0001")),
  reading("a far year's end is the end of the year 9999", refused, (text) =>
    text.replace("9999-12-31T23:59:59-00:01", "9999-12-31T23:59:59Z"),
  ),
];
