import { expect, test } from "bun:test";
import { join } from "node:path";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";

const jobs = 4000;

/** Bytes of JavaScript heap a call, its caller's own objects included. Counted with the collector off, so noise cannot touch it. */
const most = { enqueue: 5000, claim: 3600, complete: 3000 };

test("a call takes no more of the heap than its budget, through the host and back, many at once", async () => {
  const { url } = await jobsDatabase();
  const program = join(import.meta.dir, "support/allocate.ts");
  const run = Bun.spawn([process.execPath, program, url, String(jobs)], {
    env: { ...process.env, BUN_JSC_useGC: "0" },
    stderr: "inherit",
  });
  const taken = JSON.parse(await new Response(run.stdout).text()) as typeof most;
  expect(await run.exited).toBe(0);
  console.log(`bytes of heap a call: ${JSON.stringify(taken)}`);
  for (const [call, bytes] of Object.entries(taken)) {
    expect(bytes).toBeGreaterThan(0); // otherwise the heap was not measured
    expect({ call, bytes, within: bytes <= most[call as keyof typeof most] }).toMatchObject({
      call,
      within: true,
    });
  }
}, 120_000);
