import { type ConformanceCase, missingNeeds } from "./conformance-case.ts";
import {
  type JobsConformance,
  type JobsWorld,
  usualConfiguration,
  waitedConfiguration,
} from "./jobs-conformance.ts";
import { rigOf } from "./rig.ts";

/**
 * Runs one case on a fresh world, without a test runner. Rejects when the promise is broken.
 *
 * @throws TypeError when the provider does not offer what the case needs.
 */
export async function runConformanceCase<World extends JobsWorld>(
  each: ConformanceCase,
  conformance: JobsConformance<World>,
): Promise<void> {
  const missing = missingNeeds(each, conformance);
  if (missing.length > 0)
    throw new TypeError(`"${each.name}" needs ${missing.join(" and ")}, which ${conformance.name} has not`);
  const usual = conformance.clock === "waited" ? waitedConfiguration : usualConfiguration;
  const configuration = { ...usual, ...each.configuration };
  const world = await conformance.provide(configuration);
  try {
    await each.run(await rigOf(conformance, world, configuration));
  } finally {
    await world.close();
  }
}
