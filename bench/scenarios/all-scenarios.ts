import { backlogFor } from "./backlog.ts";
import { churn, held } from "./churn.ts";
import { costs } from "./costs.ts";
import { drain, drainFour, taskDrain, taskDrainDefault } from "./drain.ts";
import { enqueue, taskEnqueue } from "./enqueue.ts";
import { heldDrain } from "./held-drain.ts";
import { life } from "./life.ts";
import { manyQueues } from "./many-queues.ts";
import { pickup } from "./pickup.ts";
import type { Scenario, Size } from "./scenario.ts";
import { steady } from "./steady.ts";

/** Every scenario, in the order of the report. */
export function allScenarios({ rows }: Pick<Size, "rows">): readonly Scenario[] {
  return [
    enqueue,
    drain,
    drainFour,
    life,
    steady,
    costs,
    pickup,
    taskEnqueue,
    taskDrain,
    taskDrainDefault,
    heldDrain,
    manyQueues,
    backlogFor(rows),
    churn,
    held,
  ];
}
