import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectThat } from "../expect-equal.ts";
import { times } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "ids and tokens";
const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** The form of ids, tokens and times, and that nobody can guess or respell one. */
export const identifierCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a job id is job_ and 24 characters, a token job_lease_ and 43",
    async run(rig) {
      const { job_id, claim } = await rig.running();
      expectThat(/^job_[A-Za-z0-9_-]{24}$/.test(job_id), "job_ and 24 base64url characters as job id");
      expectThat(/^job_lease_[A-Za-z0-9_-]{43}$/.test(claim.lease_token), "job_lease_ and 43 as lease token");
    },
  },
  {
    rule,
    name: "every job has an id of its own, and every claim a token of its own",
    async run(rig) {
      const jobs = await Promise.all(times(20, () => rig.enqueue()));
      const claims = [];
      for (const _ of jobs) claims.push(await rig.claim());
      await rig.passLease();
      for (const _ of jobs) claims.push(await rig.claim());
      expectEqual(new Set(jobs.map(({ job_id }) => job_id)).size, 20, "ids");
      const random = jobs.map(({ job_id }) => bytesOf(job_id).subarray(8).toString("hex"));
      expectEqual(new Set(random).size, 20, "random parts of ids");
      expectEqual(new Set(claims.map(({ lease_token }) => lease_token)).size, 40, "tokens");
    },
  },
  {
    rule,
    name: "a malformed job id names nothing",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const foreign = ["", "job_", `job_${"=".repeat(24)}`, "x".repeat(10_000), "'; drop table jobs"];
      for (const id of [...foreign, job_id.slice(0, -1), `${job_id}A`, ` ${job_id}`, `${job_id}\n`]) {
        await expectVerdict(rig.observer.inspect({ job_id: id }), "job_not_found");
        const wrong = { ...lease, job_id: id };
        await expectVerdict(rig.worker.renew(wrong), "invalid_lease");
        await expectVerdict(rig.worker.complete(wrong), "invalid_lease");
        const failure = { ...wrong, failure_code: "busy", retryable: true };
        await expectVerdict(rig.worker.fail(failure), "invalid_lease");
      }
      await expectVerdict(rig.worker.complete(lease), "ok");
    },
  },
  {
    rule,
    name: "an id that was not handed out names nothing, however close it is",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const bytes = bytesOf(job_id);
      const close = times(bytes.length, (index) => {
        const other = Buffer.from(bytes);
        other.writeUInt8(other.readUInt8(index) ^ 1, index);
        return `job_${other.toString("base64url")}`;
      });
      const characters = job_id.slice("job_".length);
      const inCase = [...inOtherCase(characters), swapCase(characters)].map((text) => `job_${text}`);
      for (const id of [...close, ...inCase].filter((each) => each !== job_id)) {
        await expectVerdict(rig.observer.inspect({ job_id: id }), "job_not_found");
        await expectVerdict(rig.worker.complete({ ...lease, job_id: id }), "invalid_lease");
      }
      await expectVerdict(rig.worker.complete(lease), "ok");
    },
  },
  {
    rule,
    name: "a token that is spelt in any other way is another token",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const { lease_token: token } = lease;
      const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".split("");
      const respelt = letters.map((letter) => token.slice(0, -1) + letter);
      const characters = token.slice("job_lease_".length);
      const changed = times(characters.length, (index) => withAt(characters, index, "A"));
      for (const each of [...changed, ...inOtherCase(characters)]) respelt.push(`job_lease_${each}`);
      const ill = ["", "job_lease_", token.slice(0, -1), `${token}A`, `${token}=`];
      for (const other of [...ill, ...respelt.filter((each) => each !== token)]) {
        const wrong = { job_id, lease_token: other };
        await expectVerdict(rig.worker.renew(wrong), "invalid_lease");
        await expectVerdict(rig.worker.complete(wrong), "invalid_lease");
      }
      await expectVerdict(rig.worker.complete(lease), "ok");
    },
  },
  {
    rule,
    name: "every time goes out in UTC with microseconds",
    async run(rig) {
      const { job_id, claim, lease } = await rig.running();
      const seen = await rig.inspect(job_id);
      const { lease_expires_at: renewed } = await valueOf(rig.worker.renew(lease));
      const failure = { ...lease, failure_code: "busy", retryable: true };
      const { available_at: nextRun } = await valueOf(rig.worker.fail(failure));
      const inEvidence = [seen.available_at, seen.lease_expires_at, seen.created_at, seen.updated_at];
      for (const text of [claim.lease_expires_at, renewed, nextRun, ...inEvidence])
        expectThat(utc.test(String(text)), `YYYY-MM-DDTHH:MM:SS.ffffffZ, got ${String(text)}`);
    },
  },
];

const bytesOf = (jobId: string): Buffer => Buffer.from(jobId.slice("job_".length), "base64url");

const withAt = (text: string, index: number, character: string): string =>
  text.slice(0, index) + character + text.slice(index + 1);

const swapCase = (text: string): string =>
  text.replace(/[a-z]/gi, (each) => (each < "a" ? each.toLowerCase() : each.toUpperCase()));

/** The text, once for each character with that one in the other case. */
const inOtherCase = (text: string): string[] =>
  times(text.length, (index) => withAt(text, index, swapCase(text.charAt(index))));
