import { describe, expect, test } from "bun:test";
import type { EnqueueRequest, JsonObject } from "../../capability/index.ts";
import { backends, open } from "./support/backends.ts";
import { claimOne, domain, givenJob, inspectJob, jobRequest, leaseOf, valueOf } from "./support/given.ts";

type Opened = Awaited<ReturnType<typeof open>>;

const alphabet = "ABCXYZabcxyz0189._-:/";
const notInAlphabet = [" ", "\n", "\t", "\0", ",", "+", "@", "%", "'", '"', "\\", "$", "é", "К", "０", "😀"];
const nameOf = (length: number): string =>
  alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length);

async function verdict(bundle: Opened, changes: Partial<EnqueueRequest>): Promise<string> {
  const answer = await bundle.producer.enqueue(jobRequest(changes));
  if (answer.ok) return "created";
  return JSON.stringify(answer.error.error);
}

/** A payload whose compact JSON has that many bytes, all of them in one text of `fill`. */
function payloadOf(bytes: number, fill: string): { readonly t: string } {
  const width = Buffer.byteLength(fill);
  const room = bytes - Buffer.byteLength('{"t":""}');
  const text = fill.repeat(Math.floor(room / width)) + "a".repeat(room % width);
  return { t: text };
}

/** Objects or arrays in each other, the outermost object included. */
function nested(depth: number, leaf: "object" | "array"): JsonObject {
  let value: JsonObject | readonly unknown[] = leaf === "object" ? {} : [];
  for (let each = 2; each < depth; each += 1)
    value = leaf === "object" ? { d: value as JsonObject } : [value];
  return depth === 1 ? {} : { d: value as JsonObject };
}

describe.each(backends)("limits, %s", (backend) => {
  test("names take every allowed character, from one to their longest", async () => {
    await using bundle = await open(backend, { queues: ["q", nameOf(128)] });
    for (const queue of ["q", nameOf(128)]) {
      const request = { queue, kind: nameOf(256), idempotency_key: nameOf(queue.length + 100) };
      expect(await verdict(bundle, request)).toBe("created");
      expect(await claimOne(bundle, queue)).toMatchObject({ queue, kind: nameOf(256) });
    }
    expect(await verdict(bundle, { queue: "q", kind: "k", idempotency_key: "i" })).toBe("created");
    expect(await verdict(bundle, { queue: "q", idempotency_key: nameOf(256) })).toBe("created");
  });

  test("names that are empty or one too long are refused, without a trace", async () => {
    await using bundle = await open(backend, { queues: ["q", nameOf(128)] });
    for (const changes of [
      { kind: "" },
      { kind: nameOf(257) },
      { idempotency_key: "" },
      { idempotency_key: nameOf(257) },
      { queue: "" },
      { queue: nameOf(129) },
      { queue: "Q" },
    ]) {
      expect(await verdict(bundle, { queue: "q", ...changes })).toBe('"invalid_job"');
    }
    expect(await bundle.worker.claim({ queue: "q" })).toEqual(domain("no_job_available"));
    expect(await bundle.worker.claim({ queue: "" })).toEqual(domain("invalid_queue"));
    expect(await bundle.worker.claim({ queue: nameOf(129) })).toEqual(domain("invalid_queue"));
    expect(await bundle.worker.claim({ queue: "Q" })).toEqual(domain("invalid_queue"));
  });

  test("names with any other character are refused", async () => {
    await using bundle = await open(backend);
    for (const character of notInAlphabet) {
      for (const text of [character, `a${character}`, `${character}a`, `a${character}b`]) {
        expect([text, await verdict(bundle, { kind: text })]).toEqual([text, '"invalid_job"']);
        expect([text, await verdict(bundle, { idempotency_key: text })]).toEqual([text, '"invalid_job"']);
        expect(await verdict(bundle, { queue: text })).toBe('"invalid_job"');
        expect(await bundle.worker.claim({ queue: text })).toEqual(domain("invalid_queue"));
      }
    }
  });

  test("a failure code has 1 to 128 of the same characters", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const fail = (failure_code: string) => bundle.worker.fail({ ...lease, failure_code, retryable: false });
    for (const code of ["", nameOf(129), ...notInAlphabet, "a b", "a\n"]) {
      expect(await fail(code)).toEqual(domain("invalid_failure"));
    }
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running" });
    expect(await valueOf(fail(nameOf(128)))).toMatchObject({ status: "failed" });
    expect(await inspectJob(bundle, job_id)).toMatchObject({ last_failure_code: nameOf(128) });
    const other = await givenJob(bundle, { state: "running" });
    const shortest = { ...other.lease, failure_code: "/", retryable: false };
    expect(await valueOf(bundle.worker.fail(shortest))).toMatchObject({ status: "failed" });
  });

  test("max_attempts is an integer 1..100", async () => {
    await using bundle = await open(backend);
    for (const max_attempts of [1, 2, 99, 100]) {
      expect(await verdict(bundle, { max_attempts })).toBe("created");
    }
    for (const max_attempts of [0, -0, -1, 101, 1.5, 99.999, 2 ** 31, 1e300]) {
      expect(await verdict(bundle, { max_attempts })).toBe('"invalid_job"');
    }
  });

  test.each([
    ["letters", "a"],
    ["two-byte characters", "é"],
    ["three-byte characters", "語"],
    ["four-byte characters", "😀"],
    ["escapes", '"'],
  ])("a payload has at most 262144 bytes of compact JSON: %s", async (_name, fill) => {
    await using bundle = await open(backend);
    const max = fill === '"' ? { t: '"'.repeat((262_144 - 8) / 2) } : payloadOf(262_144, fill);
    expect(Buffer.byteLength(JSON.stringify(max))).toBe(262_144);
    expect(await verdict(bundle, { payload: { ...max, t: `${max.t}a` } })).toBe('"invalid_job"');
    expect(await verdict(bundle, { payload: max })).toBe("created");
    const { payload } = await claimOne(bundle);
    expect(payload.t === max.t).toBe(true);
  });

  test("a payload's size does not count white space that a caller's text had", async () => {
    await using bundle = await open(backend);
    const text = `{ "t" : "${"a".repeat(262_136)}" ${" ".repeat(1000)} }`;
    expect(await verdict(bundle, { payload: JSON.parse(text) as JsonObject })).toBe("created");
  });

  test("a payload is at most 64 deep", async () => {
    await using bundle = await open(backend);
    for (const leaf of ["object", "array"] as const) {
      for (const depth of [1, 2, 63, 64]) {
        const payload = nested(depth, leaf);
        expect(await verdict(bundle, { payload })).toBe("created");
        expect((await claimOne(bundle)).payload).toEqual(payload);
      }
      for (const depth of [65, 66, 10_000]) {
        expect(await verdict(bundle, { payload: nested(depth, leaf) })).toBe('"invalid_job"');
      }
    }
  });

  test("malformed job ids and tokens name nothing", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const ids = [
      "",
      "job_",
      job_id.slice(0, -1),
      `${job_id}A`,
      `${job_id}\n`,
      ` ${job_id}`,
      job_id.toUpperCase(),
    ];
    const foreign = [
      `job_${"_".repeat(24)}`,
      `job_${"A".repeat(23)}=`,
      `job_${"é".repeat(24)}`,
      "'; drop schema",
    ];
    for (const id of [...ids, ...foreign, "x".repeat(100_000)]) {
      expect(await bundle.observer.inspect({ job_id: id })).toEqual(domain("job_not_found"));
      expect(await bundle.worker.renew({ ...lease, job_id: id })).toEqual(domain("invalid_lease"));
      expect(await bundle.worker.complete({ ...lease, job_id: id })).toEqual(domain("invalid_lease"));
      const failure = { ...lease, job_id: id, failure_code: "busy", retryable: true };
      expect(await bundle.worker.fail(failure)).toEqual(domain("invalid_lease"));
    }
    const token = lease.lease_token;
    const others = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const respelt = others
      .split("")
      .map((each) => token.slice(0, -1) + each)
      .filter((each) => each !== token);
    const tokens = [
      "",
      "job_lease_",
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      token.slice(10),
    ];
    for (const lease_token of [...tokens, ...respelt, "x".repeat(100_000)]) {
      const refused = await bundle.worker.complete({ job_id, lease_token });
      expect(refused).toEqual(domain("invalid_lease"));
    }
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
  });

  test("a job id names the job and 10 random bytes: the number alone finds nothing", async () => {
    await using bundle = await open(backend);
    const first = await givenJob(bundle, { state: "running" });
    const bytes = Buffer.from(first.job_id.slice(4), "base64url");
    expect(bytes.length).toBe(18);
    for (let each = 8; each < 18; each += 1) {
      const guess = Buffer.from(bytes);
      guess[each] = (guess[each] ?? 0) ^ 1;
      const job_id = `job_${guess.toString("base64url")}`;
      expect(await bundle.observer.inspect({ job_id })).toEqual(domain("job_not_found"));
      expect(await bundle.worker.complete({ ...leaseOf(first.claim), job_id })).toEqual(
        domain("invalid_lease"),
      );
    }
  });
});
