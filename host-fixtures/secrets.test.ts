import { afterEach, expect, test } from "bun:test";
import { inspect } from "node:util";
import { createSecretsClient, type PluginFactory, type SecretsClient } from "../capability/index.ts";
import { startHost } from "./host.ts";
import { secretsFromEnvironment, secretsFromMap } from "./secrets.ts";
import { testPlugin } from "./testing/test-plugin.ts";

const canary = "canary-7f3a";
const variable = "LENSO_TEST_SECRET_DATABASE_URL";
afterEach(() => {
  delete process.env[variable];
});

async function withSecrets(
  plugin: PluginFactory,
  work: (secrets: SecretsClient) => Promise<void>,
): Promise<void> {
  const needs = [{ id: "secrets", capability: "lenso.secrets@1" }];
  const host = await startHost({
    instances: { app: { plugin: testPlugin({ needs }) }, secrets: { plugin } },
    bindings: [{ consumer: "app", requirement: "secrets", provider: "secrets" }],
  });
  await work(createSecretsClient(host.handle("app", "secrets")));
  await host.stop();
}

const refused = (error: string) => ({ ok: false, error: { kind: "domain", error } }) as never;

test("a map answers with the value, unknown_reference or invalid_reference", async () => {
  const values = { "jobs/url": canary };
  await withSecrets(secretsFromMap(values), async (secrets) => {
    expect(await secrets.resolve({ reference: "jobs/url" })).toEqual({ ok: true, value: { value: canary } });
    expect(await secrets.resolve({ reference: "constructor" })).toEqual(refused("unknown_reference"));
    expect(await secrets.resolve({ reference: "../jobs/url" })).toEqual(refused("invalid_reference"));
    values["jobs/url"] = "changed later";
    expect(await secrets.resolve({ reference: "jobs/url" })).toEqual({ ok: true, value: { value: canary } });
  });
});

test("a variable is read when its secret is resolved, not before", async () => {
  const plugin = secretsFromEnvironment({ "jobs/url": variable });
  await withSecrets(plugin, async (secrets) => {
    expect(await secrets.resolve({ reference: "jobs/url" })).toEqual(refused("unknown_reference"));
    process.env[variable] = canary;
    expect(await secrets.resolve({ reference: "jobs/url" })).toEqual({ ok: true, value: { value: canary } });
    process.env[variable] = "";
    expect(await secrets.resolve({ reference: "jobs/url" })).toEqual(refused("unknown_reference"));
    expect(await secrets.resolve({ reference: variable })).toEqual(refused("unknown_reference"));
  });
});

test("with a prefix, the variable's name follows from the reference", async () => {
  process.env[variable] = canary;
  await withSecrets(secretsFromEnvironment({ prefix: "LENSO_TEST_SECRET_" }), async (secrets) => {
    expect(await secrets.resolve({ reference: "database-url" })).toEqual({
      ok: true,
      value: { value: canary },
    });
    expect(await secrets.resolve({ reference: "database//url" })).toEqual(refused("invalid_reference"));
  });
});

test("no printed form of a plugin, an instance or an answer shows a value", async () => {
  const plugin = secretsFromMap({ url: canary });
  const instance = plugin.instantiate({ instanceKey: "secrets", configuration: {} });
  const context = { requestId: "1", callerInstance: "app", cancelled: false };
  const outcome = await instance.endpoints[0]?.invokeRequest("resolve", context, { reference: "url" });
  const printed = inspect([plugin, instance, outcome], { depth: 10, showHidden: true });
  expect(printed).toContain("[redacted]");
  expect(printed).not.toContain(canary);
});

test("a malformed reference or value is refused by name when the plugin is made", () => {
  expect(() => secretsFromMap({ "a//b": canary })).toThrow('"a//b" is no secret reference');
  expect(() => secretsFromMap({ a: 7 as never })).toThrow(
    'secret reference "a": expected a secret text, got number',
  );
  expect(() => secretsFromEnvironment({ "/a": "A" })).toThrow('"/a" is no secret reference');
});

test("a configuration is refused", () => {
  const plugin = secretsFromMap({});
  expect(() => plugin.instantiate({ instanceKey: "secrets", configuration: { url: canary } })).toThrow(
    "invalid_resolved_plan: lenso.secrets.map takes no configuration",
  );
});
