import { expect, test } from "bun:test";
import { faultyClient } from "../../../tasks/jobs/testing/faulty-client.ts";
import { digestJson } from "../../canonical/digest.ts";
import type { JobSubmitOutcome } from "../../submission/job-submit-outcome.ts";
import { requestDigest } from "../../submission/request-digest.ts";
import { digestWith } from "../../testing/valid-submission.ts";
import { treeDigest } from "../../tree/tree-digest.ts";
import { hostProviders } from "../testing/host-providers.ts";
import { openHostWorld } from "../testing/host-world.ts";

test("an accepted job is recorded with its first event, and carried by one Jobs job", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const submission = world.submission();
  const outcome = await host.submit(submission);
  if (outcome.status !== "accepted") throw new Error(outcome.status);
  const { reference } = outcome;
  expect(outcome).toEqual({
    status: "accepted",
    hostId: "test",
    submissionKey: submission.submissionKey,
    reference: { hostId: "test", jobId: expect.any(String) },
    requestDigest: requestDigest(submission),
    deduplicated: false,
  });
  const value = { cells: 100, label: "bridge" }; // the default fills what was not supplied
  expect(await host.get(reference)).toEqual({
    reference,
    revision: 1,
    provider: submission.provider,
    input: submission.input,
    configuration: {
      value,
      digest: digestJson(value),
      providerManifestDigest: submission.provider.manifestDigest,
    },
    state: "queued",
  });
  expect(await world.story(reference)).toEqual(["queued"]);
  await host.close(); // waits for the dispatch
  const [job] = await world.sql`select idempotency_key, max_attempts from jobs.jobs`;
  expect(job).toMatchObject({ idempotency_key: `${reference.jobId}/1`, max_attempts: 100 });
  expect(await world.row(reference)).toMatchObject({ job_id: expect.stringContaining("job_") });
});

test("a request that is submitted again under its key is the same job, under any concurrency", async () => {
  await using world = await openHostWorld();
  const hosts = [world.host(), world.host()] as const;
  const submission = world.submission();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (hosts[index % 2] ?? hosts[0]).submit(submission)),
  );
  const accepted = outcomes.map((outcome) => (outcome.status === "accepted" ? outcome : undefined));
  expect(new Set(accepted.map((outcome) => outcome?.reference.jobId)).size).toBe(1);
  expect(accepted.filter((outcome) => outcome?.deduplicated === false)).toHaveLength(1);
  const [{ jobs }] = await world.sql`select count(*)::int as jobs from job`;
  expect(jobs).toBe(1);
});

test("another request under a used key is refused, and keys of two hosts are apart", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const submission = world.submission();
  const first = await host.submit(submission);
  if (first.status !== "accepted") throw new Error(first.status);
  const other = { ...submission, input: { ...submission.input, paths: ["/a.txt"] } };
  expect(await host.submit(other)).toEqual({
    status: "refused",
    hostId: "test",
    submissionKey: submission.submissionKey,
    code: "SUBMISSION_KEY_CONFLICT",
    reference: first.reference,
  });
  const elsewhere = await world.host({ hostId: "elsewhere" }).submit(other);
  expect(elsewhere).toMatchObject({ status: "accepted", deduplicated: false });
});

test("a used key is answered from the record, also when host and input have changed since", async () => {
  await using world = await openHostWorld();
  const submission = world.submission();
  const first = await world.host().submit(submission);
  const changed = world.host({
    providers: [],
    revisions: { ...world.revisions, list: async () => undefined },
  });
  expect(await changed.submit(submission)).toEqual({ ...first, deduplicated: true } as JobSubmitOutcome);
  expect(await changed.submit(world.submission())).toMatchObject({ code: "PROVIDER_NOT_FOUND" });
});

test("every refusal has its code, and leaves no job", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const { provider, input, configuration } = world.submission();
  const { revision } = input;
  const refused = async (changes: object): Promise<unknown> => {
    const { status, ...outcome } = await host.submit(world.submission(changes));
    return status === "refused" && "code" in outcome ? [outcome.code, outcome.issues] : status;
  };
  const none = undefined;
  expect(await refused({ provider: { ...provider, id: "nobody" } })).toEqual(["PROVIDER_NOT_FOUND", none]);
  expect(await refused({ provider: { ...provider, version: "9" } })).toEqual(["PROVIDER_NOT_FOUND", none]);
  expect(await refused({ provider: { ...provider, manifestDigest: digestWith("0") } })).toEqual([
    "PROVIDER_MANIFEST_CHANGED",
    none,
  ]);
  for (const change of [{ authorityId: "x" }, { workspaceId: "x" }, { revisionId: "x" }]) {
    const changed = { ...input, revision: { ...revision, ...change } };
    expect(await refused({ input: changed })).toEqual(["REVISION_NOT_FOUND", none]);
  }
  expect(
    await refused({ input: { ...input, revision: { ...revision, treeDigest: digestWith("0") } } }),
  ).toEqual(["REVISION_CHANGED", none]);
  expect(await refused({ input: { revision, paths: ["/a.txt", "/b", "/gone.txt"] } })).toEqual([
    "INPUT_FILE_MISSING",
    [
      { pointer: "/input/paths/1", message: "the revision has no such file" },
      { pointer: "/input/paths/2", message: "the revision has no such file" },
    ],
  ]);
  const tooMany = { value: { cells: 1001 }, explicitPointers: ["/cells"] };
  expect(await refused({ configuration: tooMany })).toEqual([
    "CONFIGURATION_INVALID",
    [{ pointer: "/cells", message: expect.any(String) }],
  ]);
  expect(
    await refused({ configuration: { ...configuration, expectedEffectiveDigest: digestWith("0") } }),
  ).toEqual(["EFFECTIVE_DIGEST_MISMATCH", none]);
  const [{ jobs }] = await world.sql`select count(*)::int as jobs from job`;
  expect(jobs).toBe(0);
});

test("files that no attempt can have side by side are refused, unless only one of them is selected", async () => {
  await using world = await openHostWorld();
  const long = `/${"n".repeat(256)}`;
  const digest = digestWith("0");
  const entries = ["/a", "/a/b", long].map((path) => ({ path, length: 1, digest }));
  const host = world.host({ revisions: { ...world.revisions, list: async () => entries } });
  const revision = { ...world.revision, treeDigest: treeDigest(entries) };
  const submit = (paths: readonly string[]) => host.submit(world.submission({ input: { revision, paths } }));
  expect(await submit([long, "/a/b", "/a"])).toMatchObject({
    code: "INPUT_FILE_MISSING",
    issues: [
      { pointer: "/input/paths/0", message: "a name of more than 255 bytes" },
      { pointer: "/input/paths/2", message: "a file where another path has a folder" },
    ],
  });
  expect(await submit(["/a/b"])).toMatchObject({ status: "accepted" });
});

test("a provider whose requirements the host's facts do not meet is refused", async () => {
  await using world = await openHostWorld();
  const providers = hostProviders(world.work, { demanding: true });
  const { id = "", version = "", manifestDigest = "" } = providers[0] ?? {};
  const submission = () => world.submission({ provider: { id, version, manifestDigest } });
  for (const [capabilities, status] of [
    [{}, "refused"],
    [{ cores: 7 }, "refused"],
    [{ cores: "8" }, "refused"],
    [{ cores: 8 }, "accepted"],
  ] as const) {
    const outcome = await world.host({ providers, capabilities }).submit(submission());
    expect(outcome).toMatchObject(status === "refused" ? { code: "REQUIREMENT_NOT_MET" } : { status });
  }
});

test("texts that PostgreSQL cannot hold as they are come back unchanged", async () => {
  await using world = await openHostWorld();
  const odd = 'nul \0, quote ", backslash \\, \u2028 and 𝄞';
  const submission = world.submission({
    submissionKey: odd,
    configuration: { value: { label: odd }, explicitPointers: ["/label"] },
  });
  const host = world.host();
  const outcome = await host.submit(submission);
  if (outcome.status !== "accepted") throw new Error(outcome.status);
  expect((await host.get(outcome.reference))?.configuration.value).toEqual({ cells: 100, label: odd });
  expect(await host.submit(submission)).toMatchObject({ deduplicated: true, submissionKey: odd });
  expect(await host.list({ providerId: odd })).toEqual({ jobs: [], next: null });
});

test("a malformed request is a TypeError that names the place, and an aborted call is refused by its reason", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  await expect(host.submit({ ...world.submission(), submissionKey: "" })).rejects.toThrow("/submissionKey");
  const signal = AbortSignal.abort(new Error("no longer wanted"));
  await expect(host.submit(world.submission({ signal }))).rejects.toThrow("no longer wanted");
  const aborting = new AbortController();
  const slow = world.host({
    revisions: {
      ...world.revisions,
      async list(revision, options) {
        aborting.abort(new Error("changed my mind"));
        options?.signal?.throwIfAborted();
        return world.revisions.list(revision);
      },
    },
  });
  await expect(slow.submit(world.submission({ signal: aborting.signal }))).rejects.toThrow("changed my mind");
  const [{ jobs }] = await world.sql`select count(*)::int as jobs from job`;
  expect(jobs).toBe(0);
});

test("a Jobs capability that is away delays a job, and refuses none", async () => {
  await using world = await openHostWorld();
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", "unsent");
  const reference = await world.accept(world.host({ jobs }));
  await world.advance(3);
  const host = world.host();
  const worker = host.startWorker();
  for await (const event of host.watch(reference))
    if (event.type === "job-lifecycle-changed" && event.state === "completed") break;
  await worker.stop();
  expect(world.told).toHaveLength(1);
});

test("a store or a schema that fails is told as such, with its reason as the cause", async () => {
  await using world = await openHostWorld();
  const reason = new Error("the bucket is away");
  const list = async (): Promise<never> => {
    throw reason;
  };
  const submitting = world.host({ revisions: { ...world.revisions, list } }).submit(world.submission());
  await expect(submitting).rejects.toMatchObject({ code: "store-failed", cause: reason });
});
