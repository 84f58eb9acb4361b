import { expect, test } from "bun:test";
import { join } from "node:path";
import { jobsConformanceCases } from "./all-cases.ts";
import { ConformanceFailure } from "./expect-equal.ts";
import { runConformanceCase } from "./run-conformance-case.ts";
import { failureOf } from "./testing/failure-of.ts";
import { modelConformance } from "./testing/model-conformance.ts";
import { allMutants } from "./testing/mutants/all-mutants.ts";
import { ordinaryWork } from "./testing/ordinary-work.ts";

test.each(jobsConformanceCases.map(({ rule, name }) => [rule, name] as const))(
  "the model that the broken providers are made of keeps its promise, %s: %s",
  async (_rule, name) => {
    expect(await failureOf(modelConformance("model"), name)).toBeUndefined();
  },
);

test.each(allMutants.map((mutant) => [mutant.name, mutant.killer, mutant] as const))(
  "a provider is told where %s, by: %s",
  async (name, killer, { departure, lives = true }) => {
    const broken = modelConformance(name, departure);
    if (lives) await runConformanceCase(ordinaryWork, broken);
    // Nothing else than a promise that was not kept: a case that trips over its own feet tells nothing.
    expect(await failureOf(broken, killer)).toBeInstanceOf(ConformanceFailure);
  },
);

test("every case tells at least one broken provider", () => {
  const named = new Set(allMutants.map(({ killer }) => killer));
  expect(jobsConformanceCases.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([]);
});

test("the guide gives the numbers of cases and of broken providers as they are", async () => {
  const page = await Bun.file(join(import.meta.dir, "../docs/conformance.md")).text();
  expect(page).toContain(`The ${jobsConformanceCases.length} cases themselves`);
  expect(page).toContain(`against ${allMutants.length} providers`);
  expect(page).toContain(`each of these ${allMutants.length} one case`);
});

test("names of cases and of broken providers are unique", () => {
  for (const names of [jobsConformanceCases.map((each) => each.name), allMutants.map((each) => each.name)])
    expect(new Set(names).size).toBe(names.length);
});
