// Prints each broken provider, the case that has to tell, and how many cases fail in all: `bun conformance/print-mutants.ts [NAME]`.
// Every provider goes through every case, which takes a minute or two. Exits 1 when one survives the case that is named for it.
import { jobsConformanceCases } from "./all-cases.ts";
import { failureOf } from "./testing/failure-of.ts";
import { modelConformance } from "./testing/model-conformance.ts";
import { allMutants } from "./testing/mutants/all-mutants.ts";

const wanted = allMutants.filter(({ name }) => name.includes(process.argv[2] ?? ""));
let told = 0;
console.log("| Broken provider | Case that tells | Cases that fail |\n| --- | --- | --- |");
for (const { name, killer, departure } of wanted) {
  const broken = modelConformance(name, departure);
  const failing = new Set<string>();
  for (const each of jobsConformanceCases)
    if ((await failureOf(broken, each.name)) !== undefined) failing.add(each.name);
  if (failing.has(killer)) told += 1;
  console.log(`| ${name} | ${failing.has(killer) ? killer : `SURVIVES: ${killer}`} | ${failing.size} |`);
}
console.log(
  `\n${told} of ${wanted.length} broken providers are told by ${jobsConformanceCases.length} cases`,
);
process.exitCode = told === wanted.length ? 0 : 1;
