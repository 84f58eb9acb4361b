import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import { refusing, rewriting } from "./endpoints.ts";
import type { Mutant } from "./mutant.ts";

/** A mutant that reads another requested time than was asked for. */
function reading(name: string, killer: string, change: (text: string) => string): Mutant {
  return rewriting(name, killer, (fields, operation) =>
    operation === "enqueue" && typeof fields["available_at"] === "string"
      ? { ...fields, available_at: change(fields["available_at"]) }
      : fields,
  );
}

/** A mutant that refuses times which it should take. */
function refusingTimes(name: string, killer: string, pattern: RegExp): Mutant {
  return refusing(name, killer, "enqueue", "invalid_job", (f) => pattern.test(String(f["available_at"])));
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
  reading("a time is trimmed", refused, (text) => text.trim()),
  reading("each year that four divides is a leap year", refused, (text) =>
    text.replace("2100-02-29", "2100-03-01"),
  ),
  reading("each month has 31 days", refused, (text) => text.replace("-04-31T", "-05-01T")),
  reading("there is a month 00", refused, (text) => text.replace(/-00-/, "-01-")),
  reading("there is a day 00", refused, (text) => text.replace(/-00T/, "-01T")),
  reading("second 60 is in every minute", refused, (text) => text.replace(":60Z", ":59Z")),
  reading("a minute has 99 seconds", refused, (text) => text.replace(/:(6[1-9]|[789]\d)Z/, ":59Z")),
  reading("an offset may have no colon", refused, (text) => text.replace(/([+-]\d\d)(\d\d)$/, "$1:$2")),
  reading("an offset may be hours alone", refused, (text) => text.replace(/(T.*[+-]\d\d)$/, "$1:00")),
  reading("an offset may have 99 minutes", refused, (text) => text.replace(/([+-]\d\d):[6-9]\d$/, "$1:59")),
  reading("a fraction may be empty", refused, (text) => text.replace(".Z", "Z")),
  reading("a fraction may stand behind a comma", refused, (text) => text.replace(/,(\d+Z)$/, ".$1")),
  reading("seconds may be left out", refused, (text) => text.replace(/(T\d\d:\d\d)Z$/, "$1:00Z")),
  refusingTimes("an unknown offset is refused", offsets, /-00:00$/),
  refusingTimes(
    "the years between 0001 and 1000 are refused",
    "a requested time in the past means now, back to the year 0001",
    /^0(?!001)/,
  ),
  refusingTimes(
    "a fraction has at most nine digits",
    "what lies below a microsecond makes no other intent",
    /\.\d{10,}/,
  ),
];
