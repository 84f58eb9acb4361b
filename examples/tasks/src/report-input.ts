import * as v from "valibot";

/** One line of the data that a report is made of. */
export interface ReportRow {
  readonly label: string;
  readonly amountCents: number;
}

/** What somebody asks for. */
export interface ReportInput {
  /** The caller's stable name of the report: asking again with it is the same report. */
  readonly reportId: string;
  readonly rows: readonly ReportRow[];
}

/** What a job carries: the request, and which one of this report's requests it is. */
export interface ReportJob extends ReportInput {
  readonly revision: number;
}

/** A report's name: 1..64 letters, digits, `_`, `.` and `-`. */
export const reportId: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.regex(/^[\w.-]{1,64}$/, "expected 1..64 letters, digits, _ . -"),
  v.description("The caller's stable name of the report."),
);

const entries = {
  reportId,
  rows: v.pipe(
    v.array(
      v.strictObject({
        label: v.pipe(v.string(), v.minLength(1), v.maxLength(60)),
        // So that the sum of all rows is still an exact number.
        amountCents: v.pipe(v.number(), v.integer(), v.minValue(-1e12), v.maxValue(1e12)),
      }),
    ),
    v.minLength(1, "expected at least one row"),
    v.maxLength(2_000, "expected at most 2000 rows"),
    v.check(
      (rows) => new Set(rows.map(({ label }) => label)).size <= 100,
      "expected at most 100 different labels",
    ),
    v.description("What to sum up. The whole input may have 64 KiB."),
  ),
};

/** Checks a {@link ReportInput}. */
export const reportInput: v.GenericSchema<ReportInput> = v.strictObject(entries);

/** Checks a {@link ReportJob}. */
export const reportJob: v.GenericSchema<ReportJob> = v.strictObject({
  ...entries,
  revision: v.pipe(v.number(), v.integer(), v.minValue(1)),
});
