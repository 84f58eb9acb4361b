import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual } from "../expect-equal.ts";
import { expectVerdict } from "../verdict-of.ts";

const rule = "run times";

/** What is asked for, and the instant that it means. */
const asked = [
  ["2326-03-01T00:00:00Z", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01T00:00:00.123456Z", "2326-03-01T00:00:00.123456Z"],
  ["2326-03-01T05:45:00.5+05:45", "2326-03-01T00:00:00.500000Z"],
  ["2326-02-28T16:00:00-08:00", "2326-03-01T00:00:00.000000Z"],
  ["2326-03-01T00:00:00-00:00", "2326-03-01T00:00:00.000000Z"],
  ["2400-02-29T12:00:00Z", "2400-02-29T12:00:00.000000Z"],
  ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"],
] as const;

const refused = [
  "",
  "now",
  "infinity",
  "1772323200",
  "2326-03-01",
  "2326-03-01T00:00:00",
  "2326-03-01 00:00:00Z ",
  " 2326-03-01T00:00:00Z",
  "2326-03-01T00:00:00Z ",
  "2326-03-01T00:00:00Z\n",
  "2326-03-01T00:00Z",
  "2326-03-01T00:00:00.Z",
  "2326-03-01T00:00:00,5Z",
  "2326-02-29T00:00:00Z",
  "2100-02-29T00:00:00Z",
  "2326-04-31T00:00:00Z",
  "2326-13-01T00:00:00Z",
  "2326-00-01T00:00:00Z",
  "2326-01-00T00:00:00Z",
  "2326-03-01T24:00:00Z",
  "2326-03-01T00:60:00Z",
  "2326-03-01T12:00:60Z", // no leap second comes at noon
  "2326-12-31T23:59:61Z",
  "2326-03-01T00:00:00+24:00",
  "2326-03-01T00:00:00+05:60",
  "2326-03-01T00:00:00+0530",
  "2326-03-01T00:00:00+05",
  "0000-12-31T23:59:59Z",
  "10000-01-01T00:00:00Z",
  "9999-12-31T23:59:59-00:01",
  "0001-01-01T00:00:00+00:01",
];

/** What `available_at` may be and what it means. */
export const runTimeCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a requested time of any offset means its instant",
    async run(rig) {
      for (const [available_at, instant] of asked) {
        const { job_id } = await rig.enqueue({ available_at });
        expectEqual((await rig.inspect(job_id)).available_at, instant, available_at);
      }
    },
  },
  {
    rule,
    name: "a requested time is cut to microseconds, not rounded",
    async run(rig) {
      const { job_id } = await rig.enqueue({ available_at: "2326-03-01T00:00:00.9999999Z" });
      expectEqual((await rig.inspect(job_id)).available_at, "2326-03-01T00:00:00.999999Z");
    },
  },
  {
    rule,
    name: "a requested time in the past means now, back to the year 0001",
    async run(rig) {
      const past = [
        "0001-01-01T00:00:00Z",
        "0002-01-01T00:00:00Z",
        "0999-12-31T23:59:59Z",
        "1969-12-31T23:59:59Z",
      ];
      for (const available_at of past) {
        const { job_id } = await rig.enqueue({ available_at });
        const seen = await rig.inspect(job_id);
        expectEqual(seen.available_at, seen.created_at, available_at);
      }
    },
  },
  {
    rule,
    name: "what is no timestamp, no date that exists, or outside the years 0001 to 9999 is refused",
    async run(rig) {
      for (const available_at of refused)
        await expectVerdict(rig.producer.enqueue(rig.request({ available_at })), "invalid_job", available_at);
    },
  },
  {
    rule,
    name: "a job of the future is due at its instant and not a microsecond before",
    needs: ["clock"],
    async run(rig) {
      const { job_id, request } = await rig.enqueue({ available_at: rig.at(1) });
      await rig.advance(999.999);
      await expectVerdict(rig.worker.claim({ queue: request.queue }), "no_job_available");
      await rig.advance(0.001);
      expectEqual((await rig.claim()).job_id, job_id);
    },
  },
  {
    rule,
    name: "a job of the far future is not handed out",
    async run(rig) {
      await rig.enqueue({ available_at: "2326-03-01T00:00:00Z" });
      expectEqual(await rig.claimAll(), []);
    },
  },
];
