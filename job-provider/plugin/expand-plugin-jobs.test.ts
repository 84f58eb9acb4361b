import { expect, test } from "bun:test";
import { z } from "zod";
import { defineConfiguration } from "../configuration/define-configuration.ts";
import { defineJobProvider } from "../provider/define-job-provider.ts";
import { refusalOf } from "../testing/refusal-of.ts";
import { expandPluginJobs } from "./expand-plugin-jobs.ts";

const provider = <const Id extends string>(id: Id) =>
  defineJobProvider({
    id,
    kind: "test",
    kindVersion: 1,
    version: "1",
    configuration: defineConfiguration({ id: "c", version: "1", schema: z.null() }),
    resultSchema: z.null(),
    recovery: { mode: "restart-from-input" },
    execute: () => null,
  })();
const [mesh, solve, plot] = [provider("mesh"), provider("solve"), provider("plot")];

test("the providers of all plugins come in the plugins' order, the very objects, frozen", () => {
  const jobs = expandPluginJobs([{ id: "a", jobs: [mesh, solve] }, { id: "b" }, { id: "c", jobs: [plot] }]);
  expect(jobs).toHaveLength(3);
  expect([jobs[0] === mesh, jobs[1] === solve, jobs[2] === plot]).toEqual([true, true, true]);
  expect(Object.isFrozen(jobs)).toBe(true);
  expect(expandPluginJobs([])).toEqual([]);
});

test("a provider id that two plugins bring is refused, naming both", () => {
  const plugins = [
    { id: "first", jobs: [mesh, solve] },
    { id: "second", jobs: [plot, provider("solve")] },
  ];
  expect(refusalOf(() => expandPluginJobs(plugins))).toBe(
    'job provider "solve" is brought by plugin "first" and by plugin "second": ids are unique, so leave one out',
  );
});

test("the same provider twice in one plugin is refused too", () => {
  expect(refusalOf(() => expandPluginJobs([{ id: "only", jobs: [mesh, mesh] }]))).toContain(
    'by plugin "only" and by plugin "only"',
  );
});
