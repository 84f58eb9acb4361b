// The whole gate: `bun run test`. Format, lint with types, types, import directions, then all tests on each PostgreSQL.
// Its last line is "N passed, M failed", summed over the servers; a step or a run that is not green counts as a failure.
import { startPostgres } from "../host-fixtures/start-postgres.ts";
import { checkSteps } from "./gate/check-steps.ts";
import { runTests } from "./gate/run-tests.ts";
import { serverChoices } from "./gate/servers.ts";

/**
 * These look at the repository, run whole programs, some on servers of their own, or stand on what is tested on every server: once is enough,
 * and the gate has twenty minutes.
 */
const onceIsEnough = [
  "tests/{boundaries,docs,gate,hygiene,package,reliability}.test.ts",
  "tests/{chaos,faults,failover}/**",
  "tests/{task,job}-faults/**",
  "tests/{budgets,lifecycle,signals}/**",
  "tests/{first-job-host,test-database}.test.ts",
  "tests/contract/{access,backoff,idempotency,limits,model,order,portable-json,precedence,redaction,replay,schemas,shapes,states,timestamps,wire}.test.ts",
  "tests/postgres/{deadlocks,hostile-sessions,index-sizes,large-ids,limits,many-queues,uncommitted-keys}.test.ts",
  "plugin/operator/{concurrency,explain-failure,notification-queue}.test.ts",
  "{fuzz,proof,tests/model}/**",
  "conformance/**",
  "host-fixtures/**",
  "examples/**",
  "bench/**",
  "capability/**",
  "tasks/**",
  "job-provider/**",
];

/** The machine is not going to lose power here; a server that is killed loses nothing by it. Tests of outages start their own. */
const settings = { fsync: "off", full_page_writes: "off" };

let passed = 0;
let failed = await checkSteps();
const problems: string[] = failed > 0 ? [`${failed} of the checks before the tests failed`] : [];

for (const [index, { name, binaries }] of serverChoices().entries()) {
  const server = await startPostgres({ settings, ...(binaries === undefined ? {} : { binaries }) });
  console.log(`\n== tests on PostgreSQL ${server.version} (${name})`);
  try {
    const result = await runTests({
      name,
      env: { LENSO_TEST_DATABASE_URL: server.url },
      leaveOut: index === 0 ? [] : onceIsEnough,
    });
    passed += result.passed;
    failed += result.failed + result.problems.length;
    problems.push(...[...result.failures, ...result.problems].map((problem) => `${name}: ${problem}`));
  } finally {
    await server.stop();
  }
}

for (const problem of problems) console.log(`NOT GREEN: ${problem}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
