import { expect, test } from "bun:test";
import { formatJobId, parseJobId } from "./job-id.ts";
import { formatLeaseToken, hashLeaseToken } from "./lease-token.ts";

const nonce = "00112233445566778899";

test.each([
  "1",
  "2147483648",
  "4294967295",
  "4294967296",
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "9223372036854775807",
])("row %s comes back from its id", (row) => {
  const text = formatJobId({ row, nonce });
  expect(text).toMatch(/^job_[A-Za-z0-9_-]{24}$/);
  expect(parseJobId(text)).toEqual({ row, nonce });
});

test.each([
  "",
  "job_",
  "job_AAAAAAAAAAELPuLkpXZrxcU",
  "job_AAAAAAAAAAELPuLkpXZrxcUvA",
  "JOB_AAAAAAAAAAELPuLkpXZrxcUv",
  "job_AAAAAAAAAAELPuLkpXZrxc=v",
  "job__________________________",
])("%j is no job id", (text) => {
  expect(parseJobId(text)).toBeUndefined();
});

test("a token is known by its hash only in the spelling in which it was handed out", () => {
  const token = formatLeaseToken(new Uint8Array(32).fill(7));
  expect(hashLeaseToken(token)).toMatch(/^[0-9a-f]{64}$/);
  // The last character has two bits to spare; another spelling of the same bytes is another token.
  const last = token.at(-1) === "c" ? "d" : "c";
  expect(hashLeaseToken(token.slice(0, -1) + last)).toBeUndefined();
  expect(hashLeaseToken(token.slice(0, -1))).toBeUndefined();
  expect(hashLeaseToken(token.replace("job_lease_", "job_"))).toBeUndefined();
});
