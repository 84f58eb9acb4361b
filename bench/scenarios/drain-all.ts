import { type Costs, withCosts } from "../run/costs.ts";
import { now } from "../run/side-process.ts";
import type { Load } from "../sides/side.ts";
import type { Stand } from "./scenario.ts";

/** A drain from the first handler on until no job was left in the tables. */
export interface Drain {
  readonly jobsPerSecond: number;
  /** Jobs ended by a moment, in ms from the first handler on. */
  readonly timeline: readonly (readonly [ms: number, ended: number])[];
  readonly costs: Costs & { readonly jobs: number };
}

/** Works `count` waiting jobs off in all processes of a side. @throws Error when jobs are left or ended twice. */
export async function drainAll(stand: Stand, count: number, load: Load): Promise<Drain> {
  const { processes, sql, spec, schema } = stand;
  const timeline: [number, number][] = [];
  let began = Number.POSITIVE_INFINITY;
  let ended = 0;
  const all = Promise.withResolvers<void>();
  for (const process of processes) {
    process.onTold = (told) => {
      if (told.event === "began") began = Math.min(began, told.at);
      else {
        ended += told.count;
        timeline.push([told.at, ended]);
        if (ended >= count) all.resolve();
      }
    };
  }
  const { value: emptyAt, costs } = await withCosts(sql, processes, async () => {
    const givingUp = setTimeout(
      () => all.reject(new Error(`${spec.name} ended ${ended} of ${count} jobs in ten minutes`)),
      600_000,
    );
    await Promise.all(processes.map((process) => process.ask("startWork", { load })));
    await all.promise.finally(() => clearTimeout(givingUp));
    // Told is not yet committed where a side completes in the background.
    for (;;) {
      const lookedAt = now();
      if (!(await spec.tables.hasWork(sql, schema))) return lookedAt;
      if (lookedAt - began > 600_000) throw new Error(`${spec.name} left jobs behind`);
      await Bun.sleep(1);
    }
  });
  await Promise.all(processes.map((process) => process.ask("stopWork", null)));
  for (const process of processes) process.onTold = undefined;
  if (ended !== count) throw new Error(`${spec.name} ended ${ended} jobs of ${count}`);
  return {
    jobsPerSecond: (count * 1000) / (emptyAt - began),
    timeline: timeline.map(([at, done]) => [at - began, done]),
    costs: { ...costs, jobs: count },
  };
}
