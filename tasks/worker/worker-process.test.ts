import { expect, test } from "bun:test";
import type { MemoryJob } from "./testing/memory-backend.ts";

interface Report {
  readonly jobs: readonly MemoryJob[];
  readonly rejections: readonly string[];
  readonly errors: readonly string[];
  readonly log: readonly string[];
}

async function run(scenario: string): Promise<Report> {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/testing/worker-process.ts`, scenario], {
    stdout: "pipe",
    stderr: "inherit",
    timeout: 15_000, // kills a process that does not end by itself
  });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return JSON.parse(text) as Report;
}

test("after stop nothing keeps the process: it ends by itself", async () => {
  const { jobs, errors } = await run("plain");
  expect(jobs.every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
  expect(errors).toEqual([]);
});

test("a detached promise that rejects does not disturb the worker", async () => {
  const { jobs, rejections } = await run("detached");
  expect(jobs.every(({ finals, attempt }) => finals === 1 && attempt === 1)).toBe(true);
  expect(rejections).toHaveLength(20);
});

test("an event loop blocked longer than the lease loses its claims, says why, and the jobs end once", async () => {
  const { jobs, errors, log } = await run("blocked");
  expect(jobs.every(({ finals }) => finals === 1)).toBe(true);
  expect(jobs.some(({ attempt }) => attempt > 1)).toBe(true);
  expect(errors.some((error) => /event loop blocked \d\.\d s; lease lost/.test(error))).toBe(true);
  expect(log.filter((entry) => entry.startsWith("settle job-1/1 "))).toEqual([]);
});
