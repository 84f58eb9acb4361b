import { describe, expect, test } from "bun:test";
import { Console } from "node:console";
import { Writable } from "node:stream";
import { inspect } from "node:util";
import type { CapabilityProviderBinding } from "../../capability/index.ts";
import { bindJobsProvider, createJobsClient } from "../../capability/index.ts";
import { startHost } from "../../host-fixtures/host.ts";
import { secretsFromMap } from "../../host-fixtures/secrets.ts";
import { createJobsPlugin } from "../../plugin/plugin.ts";
import { backends, configuration, open, openPostgres, postgresBackends } from "./support/backends.ts";
import { claimOne, givenJob, jobRequest, leaseOf, runtimeKind, valueOf } from "./support/given.ts";

/** A text that must not come out anywhere. Never written in a failure message: tests compare booleans only. */
const canary = (): string => `${"CANARY"}-${crypto.randomUUID().replaceAll("-", "")}`;

/** Every form in which a value may end up in a log. */
function printed(value: unknown): string {
  const nested = [value, [value], { a: { b: { c: value } } }, new Map([["a", value]])];
  const forms = nested.flatMap((each) => [
    inspect(each, { depth: 20, showHidden: true }),
    inspect(each),
    inspect(each, { depth: 20, compact: false, getters: true }),
    Bun.inspect(each, { depth: 20 }),
    logged(each),
  ]);
  forms.push(String(value), `${Object.prototype.toString.call(value)}`);
  if (value instanceof Error) {
    forms.push(
      JSON.stringify(value),
      value.stack ?? "",
      value.message,
      inspect(new Error("outer", { cause: value })),
    );
  }
  return forms.join("\n");
}

function logged(value: unknown): string {
  let text = "";
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  new Console({ stdout, stderr: stdout }).log(value, [value], "%o", value);
  return text;
}

const shows = (value: unknown, secret: string): boolean => printed(value).includes(secret);

describe.each(backends)("secret fields in printed forms, %s", (backend) => {
  test("a claim shows neither its payload nor its token, and everything else", async () => {
    await using bundle = await open(backend);
    const secret = canary();
    const { job_id } = await givenJob(bundle, { payload: { secret, deep: [{ [secret]: 1 }] } });
    const answer = await bundle.worker.claim({ queue: "mail" });
    const claim = answer.ok ? answer.value : undefined;
    const token = claim?.lease_token ?? "no token";
    for (const value of [claim, answer]) {
      expect(shows(value, secret)).toBe(false);
      expect(shows(value, token)).toBe(false);
      expect(shows(value, job_id)).toBe(true);
      expect(shows(value, "[redacted]")).toBe(true);
    }
    expect(claim?.payload.secret === secret).toBe(true);
    expect(JSON.stringify(claim).includes(token)).toBe(true); // it travels as JSON
  });

  test("the outcome that a host passes on shows them no more than the client's value", async () => {
    await using bundle = await open(backend);
    const secret = canary();
    await givenJob(bundle, { payload: { secret } });
    const outcome = await bundle.handle("worker").invoke("claim", { queue: "mail" });
    expect(shows(outcome, secret)).toBe(false);
    expect(shows(outcome, "job_lease_")).toBe(false);
  });

  test("no refusal or failure of any operation shows what was sent", async () => {
    await using bundle = await open(backend);
    const secret = canary();
    const token = `job_lease_${Buffer.alloc(32, 7).toString("base64url")}`;
    const job_id = `job_${"A".repeat(24)}`;
    const calls: readonly [Parameters<typeof bundle.handle>[0], string, unknown][] = [
      ["producer", "enqueue", { ...jobRequest(), payload: { secret, bad: Number.NaN } }],
      ["producer", "enqueue", { ...jobRequest(), payload: { [secret]: undefined } }],
      ["producer", "enqueue", { ...jobRequest(), payload: secret }],
      ["producer", "enqueue", { ...jobRequest(), payload: { secret }, extra: secret }],
      ["stranger", "enqueue", { ...jobRequest(), payload: { secret } }],
      ["worker", "complete", { job_id, lease_token: token }],
      ["worker", "complete", { job_id, lease_token: { token } }],
      ["worker", "fail", { job_id, lease_token: token, failure_code: secret.repeat(10), retryable: true }],
      ["worker", "renew", { job_id: token, lease_token: secret }],
      ["stranger", "renew", { job_id, lease_token: token }],
    ];
    for (const [caller, operation, payload] of calls) {
      const outcome = await bundle.handle(caller).invoke(operation, payload);
      expect(outcome.kind === "success").toBe(false);
      for (const text of [printed(outcome), JSON.stringify(outcome)]) {
        expect(text.includes(secret) || text.includes(token)).toBe(false);
      }
    }
    await bundle.stop();
    const late = await bundle.producer.enqueue(jobRequest({ payload: { secret } }));
    expect(late.ok || shows(late, secret)).toBe(false);
  });

  test("client, handle, endpoint and Instance show no job that went through them", async () => {
    await using bundle = await open(backend);
    const secret = canary();
    await givenJob(bundle, { payload: { secret } });
    const waiting = givenJob(bundle, { payload: { secret } });
    const claim = await claimOne(bundle);
    for (const value of [bundle.worker, bundle.handle("worker"), bundle.endpoint, bundle.instance]) {
      expect(shows(value, secret) || shows(value, claim.lease_token)).toBe(false);
    }
    await waiting;
    await valueOf(bundle.worker.complete(leaseOf(claim)));
  });
});

describe("secret fields of decoded requests", () => {
  /** What a provider gets to see, and may log. */
  async function decoded(operation: string, request: object): Promise<unknown> {
    let seen: unknown;
    const see = async (_context: unknown, given: unknown) => {
      seen = given;
      throw new Error("after a look");
    };
    const provider = { claim: see, complete: see, enqueue: see, fail: see, inspect: see, renew: see };
    const endpoint = bindJobsProvider(provider);
    await endpoint.invokeRequest(
      operation,
      { requestId: "1", callerInstance: "a", cancelled: false },
      request,
    );
    return seen;
  }

  test.each(["complete", "renew", "fail"])("the lease token of %s is hidden", async (operation) => {
    const lease_token = canary();
    const failure = operation === "fail" ? { failure_code: "visible", retryable: true } : {};
    const seen = await decoded(operation, { job_id: "visible", lease_token, ...failure });
    expect(shows(seen, lease_token)).toBe(false);
    expect(shows(seen, "visible")).toBe(true);
    expect((seen as { lease_token: string }).lease_token === lease_token).toBe(true);
  });

  test("the payload of enqueue is hidden", async () => {
    const secret = canary();
    const seen = await decoded("enqueue", jobRequest({ payload: { secret }, kind: "visible" }));
    expect(shows(seen, secret)).toBe(false);
    expect(shows(seen, "visible")).toBe(true);
  });

  test("a claim that came over a wire is hidden by the client", async () => {
    const secret = canary();
    const value = {
      job_id: "visible",
      queue: "mail",
      kind: "k",
      payload: { secret },
      attempt: 1,
      max_attempts: 1,
      lease_token: canary(),
      lease_expires_at: "2026-01-01T00:00:00.000000Z",
    };
    const client = createJobsClient({
      invoke: async () => ({ kind: "success", value: structuredClone(value) }),
    });
    const answer = await client.claim({ queue: "mail" });
    expect(answer.ok).toBe(true);
    expect(shows(answer, secret) || shows(answer, value.lease_token)).toBe(false);
  });
});

describe.each(postgresBackends)("what the server says, %s", (backend) => {
  // A refused row and value, a refusal that is not known, a cancelled statement, a missing privilege, lacking memory and an internal error.
  test.each(["23514", "22P02", "P0001", "57014", "42501", "53200", "XX000"])(
    "is in no failure, although it quotes a payload and a key: SQLSTATE %s",
    async (code) => {
      await using bundle = await openPostgres(backend);
      const [secret, key] = [canary(), canary()];
      await bundle.database.query(quoteEachJob(code));
      try {
        const request = { ...jobRequest({ payload: { secret } }), idempotency_key: key };
        const answer = await bundle.producer.enqueue(request);
        const outcome = await bundle.handle("producer").invoke("enqueue", request);
        for (const value of [answer, outcome]) {
          for (const text of [printed(value), JSON.stringify(value)]) {
            expect(text.includes(secret) || text.includes(key)).toBe(false);
            expect(text.includes(`SQLSTATE ${code}`)).toBe(true);
          }
        }
        expect(runtimeKind(answer)).toBe(
          code.startsWith("2") || code === "P0001" ? "plugin_failure" : "unavailable",
        );
      } finally {
        await bundle.database.query("drop function public.quote_job() cascade");
      }
    },
  );
});

/** Has the server refuse each new job with its payload and its key in every field of the error. */
function quoteEachJob(code: string): string {
  const quoted = "format('the job %s of %s', new.payload, new.idempotency_key)";
  const fields = ["message", "detail", "hint", "column", "constraint", "table"];
  return `
    create function public.quote_job() returns trigger language plpgsql as $$ begin
      raise exception using errcode = '${code}', ${fields.map((field) => `${field} = ${quoted}`).join(", ")};
    end $$;
    create trigger quote_job before insert on jobs for each row execute function public.quote_job()`;
}

describe.each(postgresBackends)("the database's secret, %s", (backend) => {
  const driver = backend === "PostgreSQL, driver pg" ? "pg" : "bun";

  test("is in no error of a host whose database cannot be reached, and in no object of it", async () => {
    const password = canary();
    const objects: unknown[] = [];
    const plugin = createJobsPlugin(
      { clock: "pg_catalog.clock_timestamp()", maintenanceIntervalMs: 3_600_000 },
      (_key, instance) => objects.push(instance),
    );
    const secrets = secretsFromMap({ "jobs/url": `postgres://user:${password}@127.0.0.1:1/none` });
    const failed = await startHost({
      instances: {
        secrets: { plugin: secrets },
        jobs: { plugin, configuration: { ...configuration, driver } },
      },
      bindings: [{ consumer: "jobs", requirement: "secrets", provider: "secrets" }],
    }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ kind: "unavailable" });
    for (const value of [failed, plugin, secrets, ...objects]) expect(shows(value, password)).toBe(false);
  });

  test("is in no object of a host that runs", async () => {
    await using bundle = await open(backend);
    const { password } = new URL(bundle.database?.url ?? "");
    const endpoint: CapabilityProviderBinding = bundle.endpoint;
    await givenJob(bundle);
    for (const value of [bundle.instance, endpoint, bundle.worker])
      expect(shows(value, password)).toBe(false);
  });
});
