import * as fc from "fast-check";
import { checkComposition } from "../../host-fixtures/composition.ts";
import { readComposition } from "../../host-fixtures/composition-file.ts";
import { HostError } from "../../host-fixtures/host-error.ts";
import { secretsFromMap } from "../../host-fixtures/secrets.ts";
import { jobsPlugin } from "../../plugin/plugin.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { goodConfiguration } from "./good-configuration.ts";

const plugins = { jobs: jobsPlugin, secrets: secretsFromMap({ "jobs/url": "unused" }) };
const goodInstances = {
  secrets: { plugin: "secrets" },
  jobs: { plugin: "jobs", configuration: { ...goodConfiguration, extra: canary } },
};
const good = JSON.stringify({
  instances: goodInstances,
  bindings: [{ consumer: "jobs", requirement: "secrets", provider: "secrets" }],
});
const names = ["jobs", "secrets", "constructor", "__proto__", "toString"];
const documents = fc.record({
  instances: fc.dictionary(
    fc.constantFrom("a", "b", ...names),
    fc.record(
      { plugin: fc.constantFrom(...names), configuration: fc.jsonValue(), more: fc.constant(canary) },
      { requiredKeys: ["plugin"] },
    ),
  ),
  bindings: fc.oneof(
    fc.jsonValue(),
    fc.array(
      fc.record({
        consumer: fc.constantFrom("a", ...names),
        requirement: fc.constantFrom(...names),
        provider: fc.constantFrom("b", ...names),
      }),
    ),
  ),
});

const secretInKey = new RegExp(`${canary}[^"]*"\\s*:`);

/** Parts of the good file cut out, doubled and replaced, as an editor's slip does it. */
const damaged = fc
  .tuple(
    fc.nat(good.length),
    fc.nat(40),
    fc.constantFrom("", "{", "}", '"', ",", ":", "[", `"${canary}!"`, ` ${canary} `, "\u0000", "é"),
  )
  .map(([at, length, put]) => good.slice(0, at) + put + good.slice(at + length));

/** The good file with another Instance, and bindings between names that exist and some that don't. */
const rebound = fc
  .record({
    more: fc.constantFrom({}, { again: { plugin: "jobs" } }, { again: { plugin: "secrets" } }),
    bindings: fc.array(
      fc.record({
        consumer: fc.constantFrom("jobs", "jobs", "again", "secrets", "nobody"),
        requirement: fc.constantFrom("secrets", "secrets", "secrets", "other"),
        provider: fc.constantFrom("secrets", "secrets", "again", "jobs", "nobody"),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ more, bindings }) => JSON.stringify({ instances: { ...goodInstances, ...more }, bindings }));
const doubled = fc
  .constantFrom("jobs", "secrets")
  .map((key) =>
    good.replace("{", `{"instances":{"${key}":{}},`).replace(`"${key}":`, `"${key}":{},"${key}":`),
  );

const texts = fc.oneof(
  { weight: 3, arbitrary: rebound },
  doubled,
  damaged,
  documents.map((document) => JSON.stringify(document)),
  fc.json().map((text) => `{${text}`),
  fc.constant(`{"instances":{"a":{"plugin":"jobs","configuration":"${canary}"}},"bindings":"${canary}!"}`),
);

/** Composition files, broken in every way that a text can be. */
export const composition: FuzzTarget = {
  name: "composition files",
  share: 2,
  leastOfThousand: {
    read: 120,
    checked: 8,
    invalid_composition: 120,
    duplicate_instance: 20,
    missing_plugin_factory: 5,
    missing_instance: 60,
    undeclared_requirement: 30,
    capability_mismatch: 20,
    missing_binding: 20,
    ambiguous_binding: 12,
  },
  property: (reach) =>
    fc.asyncProperty(texts, async (text) => {
      // A path is the file system's matter: only what begins like a document is one.
      if (!text.trimStart().startsWith("{")) return;
      // Keys are names, which messages repeat.
      if (secretInKey.test(text)) return;
      try {
        const read = await readComposition(text, { plugins });
        reach("read");
        // The names of bindings are repeated too.
        if (JSON.stringify(read.bindings).includes(canary)) return;
        checkComposition(read);
        reach("checked");
      } catch (error) {
        if (!(error instanceof HostError)) throw error;
        expectNoCanary(error);
        for (const { code } of error.problems) reach(code);
      }
    }),
};
