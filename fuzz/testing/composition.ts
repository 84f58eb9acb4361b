import * as fc from "fast-check";
import { readComposition } from "../../host-fixtures/composition-file.ts";
import { HostError } from "../../host-fixtures/host-error.ts";
import { secretsFromMap } from "../../host-fixtures/secrets.ts";
import { jobsPlugin } from "../../plugin/plugin.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { goodConfiguration } from "./good-configuration.ts";

const plugins = { jobs: jobsPlugin, secrets: secretsFromMap({ "jobs/url": "unused" }) };
const good = JSON.stringify({
  instances: {
    secrets: { plugin: "secrets" },
    jobs: { plugin: "jobs", configuration: { ...goodConfiguration, extra: canary } },
  },
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

const texts = fc.oneof(
  damaged,
  documents.map((document) => JSON.stringify(document)),
  fc.json().map((text) => `{${text}`),
  fc.constant(`{"instances":{"a":{"plugin":"jobs","configuration":"${canary}"}},"bindings":"${canary}!"}`),
);

/** Composition files, broken in every way that a text can be. */
export const composition: FuzzTarget = {
  name: "composition files",
  share: 2,
  property: () =>
    fc.asyncProperty(texts, async (text) => {
      // A path is the file system's matter: only what begins like a document is one.
      if (!text.trimStart().startsWith("{")) return;
      // Keys are names, which messages repeat.
      if (secretInKey.test(text)) return;
      try {
        await readComposition(text, { plugins });
      } catch (error) {
        if (!(error instanceof HostError)) throw error;
        expectNoCanary(error);
      }
    }),
};
