import { describe, expect, test } from "bun:test";
import { backends, open } from "./support/backends.ts";
import { domain, givenJob, inspectJob, jobRequest } from "./support/given.ts";

/** What is asked for, and the run time that it means. */
const accepted = [
  ["2326-03-01T00:00:00Z", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01t00:00:00z", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01T00:00:00.1Z", "2326-03-01T00:00:00.100000Z"],
  ["2326-03-01T00:00:00.123456Z", "2326-03-01T00:00:00.123456Z"],
  ["2326-03-01T00:00:00.1234569Z", "2326-03-01T00:00:00.123456Z"],
  ["2326-03-01T00:00:00.999999999999999999999Z", "2326-03-01T00:00:00.999999Z"],
  ["2326-03-01T00:00:00.0000009Z", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01T00:00:00+00:00", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01T00:00:00-00:00", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01T05:45:00.5+05:45", "2326-03-01T00:00:00.500000Z"],
  ["2326-02-28T16:00:00-08:00", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01T23:59:00+23:59", "2326-03-01T00:00:00.000000Z"],
  ["2028-02-29T12:00:00Z", "2028-02-29T12:00:00.000000Z"],
  ["2400-02-29T12:00:00Z", "2400-02-29T12:00:00.000000Z"],
  ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"],
  ["9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z"],
] as const;

const past = [
  "0001-01-01T00:00:00Z",
  "0001-01-01T00:00:00.000001Z",
  "0099-12-31T00:00:00Z",
  "1969-12-31T23:59:59Z",
];

const refused = [
  "",
  "now",
  "2326-03-01",
  "2326-03-01T00:00:00",
  "2326-03-01 00:00:00Z",
  "2326-03-01T00:00Z",
  "2326-03-01T00:00:00.Z",
  "2326-03-01T00:00:00,5Z",
  "2326-03-01T00:00:00+0000",
  "2326-03-01T00:00:00+00",
  "2326-03-01T00:00:00+24:00",
  "2326-03-01T00:00:00+00:60",
  "2326-03-01T24:00:00Z",
  "2326-03-01T00:60:00Z",
  "2326-03-01T00:00:61Z",
  "2326-00-01T00:00:00Z",
  "2326-13-01T00:00:00Z",
  "2326-03-00T00:00:00Z",
  "2326-04-31T00:00:00Z",
  "2326-02-29T00:00:00Z",
  "2100-02-29T00:00:00Z",
  "0000-12-31T23:59:59.999999Z",
  "10000-01-01T00:00:00Z",
  "+2026-03-01T00:00:00Z",
  "-0001-03-01T00:00:00Z",
  "9999-12-31T23:59:59-00:01",
  "0001-01-01T00:00:00+00:01",
  "2326-03-01T00:00:00Z\n",
  " 2026-03-01T00:00:00Z",
  "2326-03-01T00:00:00Z ",
  "٢٠٢٦-03-01T00:00:00Z",
  "infinity",
  "-infinity",
  "epoch",
  "1772323200",
];

describe.each(backends)("available_at, %s", (backend) => {
  test("is RFC 3339 of any offset, cut to microseconds", async () => {
    await using bundle = await open(backend);
    for (const [asked, meant] of accepted) {
      const { job_id } = await givenJob(bundle, { available_at: asked });
      const { available_at } = await inspectJob(bundle, job_id);
      expect({ asked, available_at }).toEqual({ asked, available_at: meant });
    }
  });

  test("may lie in the past, back to the year 0001", async () => {
    await using bundle = await open(backend);
    for (const asked of past) {
      const { job_id } = await givenJob(bundle, { available_at: asked });
      const { available_at, created_at } = await inspectJob(bundle, job_id);
      expect({ asked, available_at }).toEqual({ asked, available_at: created_at });
    }
  });

  test("is refused when it is no such timestamp, or none that exists, or outside the years 0001..9999", async () => {
    await using bundle = await open(backend);
    for (const asked of refused) {
      const answer = await bundle.producer.enqueue(jobRequest({ available_at: asked }));
      expect({ asked, answer }).toEqual({ asked, answer: domain("invalid_job") });
    }
  });
});
