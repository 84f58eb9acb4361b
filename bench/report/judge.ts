import type { Result } from "../run/run-scenarios.ts";
import { spreadOf } from "./median.ts";
import { targets as allTargets, type Target } from "./targets.ts";

/** A target and what came of it. */
export interface Verdict {
  readonly target: Target;
  readonly title: string;
  /** The figure, or the ratio of the two figures' medians. */
  readonly value: number;
  readonly must: boolean;
  /** Undefined where there is no aim. */
  readonly aim: boolean | undefined;
}

/** The verdicts on all targets that were measured. */
export function judge(results: readonly Result[], targets: readonly Target[] = allTargets): Verdict[] {
  const medianOf = (row: string, side: string): number | undefined => {
    const found = results.find((result) => result.row.id === row && result.side === side);
    return found && spreadOf(found.values).median;
  };
  return targets.flatMap((target): Verdict[] => {
    const title = results.find(({ row }) => row.id === target.row)?.row.title;
    const ours = medianOf(target.row, target.us);
    const divisor = target.against === undefined ? 1 : medianOf(target.row, target.against);
    if (title === undefined || ours === undefined || divisor === undefined) return [];
    const value = ours / divisor;
    const meets = (limit: number): boolean => (target.is === "at least" ? value >= limit : value <= limit);
    const aim = target.aim === undefined ? undefined : meets(target.aim);
    return [{ target, title, value, must: meets(target.must), aim }];
  });
}
