import type { JobsConfig } from "../../../plugin/config.ts";
import { conformanceCallers } from "../../jobs-conformance.ts";
import type { Model } from "../model-conformance.ts";
import { atEndpoint, domain, rewriting } from "./endpoints.ts";
import { deadly, inStore, jobOf, type Mutant } from "./mutant.ts";

const stranger = "a caller without a role may do nothing";
const observers = "an observer may inspect, and nothing else";
const producers = "a producer may enqueue and inspect, and nothing else";
const workers = "a worker may claim, renew, complete, fail and inspect, and not enqueue";
const refusedCode = /^invalid_/;

function withRoles(
  name: string,
  killer: string,
  change: (config: JobsConfig) => Partial<JobsConfig>,
): Mutant {
  return { name, killer, departure: { config: (config) => ({ ...config, ...change(config) }) } };
}

/** A mutant that takes a caller for another. */
function readingIdentity(name: string, read: (key: string, model: Model) => string): Mutant {
  const killer = "an identity that only resembles one of the lists may do nothing";
  return atEndpoint(name, killer, ({ operation, context, payload, model }, inner) => {
    const { callerInstance: key } = context;
    return inner(
      operation,
      key === undefined ? context : { ...context, callerInstance: read(key, model) },
      payload,
    );
  });
}

const namesOf = (config: JobsConfig): string[] => [
  ...config.producer_instances,
  ...config.worker_instances,
  ...config.observer_instances,
];

/** Roles that allow too much or too little. */
export const accessMutants: readonly Mutant[] = [
  withRoles("nobody's role is looked at", stranger, () => ({
    producer_instances: conformanceCallers,
    worker_instances: conformanceCallers,
    observer_instances: conformanceCallers,
  })),
  withRoles("an observer may claim and settle", observers, (config) => ({
    worker_instances: [...config.worker_instances, ...config.observer_instances],
  })),
  withRoles("an observer may enqueue", observers, (config) => ({
    producer_instances: [...config.producer_instances, ...config.observer_instances],
  })),
  withRoles("a producer may claim and settle", producers, (config) => ({
    worker_instances: [...config.worker_instances, ...config.producer_instances],
  })),
  withRoles("a worker may enqueue", workers, (config) => ({
    producer_instances: [...config.producer_instances, ...config.worker_instances],
  })),
  withRoles("a stranger may inspect", stranger, (config) => ({
    observer_instances: [...config.observer_instances, "stranger"],
  })),
  deadly(withRoles("an observer may not inspect", observers, () => ({ observer_instances: [] }))),
  withRoles("only the first worker is known", workers, ({ worker_instances: [first = ""] }) => ({
    worker_instances: [first],
  })),
  withRoles(
    "an Instance has one role",
    "an Instance in several lists may do what each of them allows",
    (config) => ({
      worker_instances: config.worker_instances.filter((key) => !config.producer_instances.includes(key)),
    }),
  ),
  atEndpoint(
    "only observers may inspect",
    "without observers the producers and workers may inspect",
    ({ operation, context, payload, model }, inner) =>
      operation === "inspect" && model.config.observer_instances.length === 0
        ? domain("unauthorized")
        : inner(operation, context, payload),
  ),
  atEndpoint(
    "who has no identity may do everything",
    "a call without a caller's identity may do nothing",
    ({ operation, context, payload }, inner) => {
      const callerInstance = context.callerInstance || (operation === "enqueue" ? "producer" : "worker");
      return inner(operation, { ...context, callerInstance }, payload);
    },
  ),
  atEndpoint(
    "bounds are judged before the role",
    "who may not call never learns whether its values were valid",
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      if (outcome.kind !== "domain" || outcome.value !== "unauthorized") return outcome;
      // A call that is over does nothing, and still says whether its values were valid.
      const callerInstance = operation === "enqueue" ? "producer" : "worker";
      const judged = await inner(operation, { ...context, callerInstance, cancelled: true }, payload);
      return judged.kind === "domain" && refusedCode.test(String(judged.value)) ? judged : outcome;
    },
  ),
  atEndpoint(
    "bounds are judged before the role of who has another one",
    "who may not call never learns whether its values were valid",
    async ({ operation, context, payload, model }, inner) => {
      const outcome = await inner(operation, context, payload);
      const { callerInstance = "" } = context;
      const others = namesOf(model.config).filter(
        (key) => operation !== "enqueue" || !key.startsWith("worker"),
      );
      if (outcome.kind !== "domain" || outcome.value !== "unauthorized" || !others.includes(callerInstance))
        return outcome;
      const allowed = operation === "enqueue" ? "producer" : "worker";
      const judged = await inner(
        operation,
        { ...context, callerInstance: allowed, cancelled: true },
        payload,
      );
      return judged.kind === "domain" ? judged : outcome;
    },
  ),
  readingIdentity("identities are compared without case", (key) => key.toLowerCase()),
  readingIdentity("identities are trimmed", (key) => key.trim()),
  readingIdentity("identities are compared by their beginning", (key, { config }) => {
    const known = namesOf(config);
    return known.includes(key) ? key : (known.find((each) => key.startsWith(each)) ?? key);
  }),
  atEndpoint(
    "the role is judged before the request is decoded",
    "a request is decoded before anybody's role is looked at",
    ({ operation, context, payload }, inner) =>
      context.callerInstance === "stranger" ? domain("unauthorized") : inner(operation, context, payload),
  ),
  atEndpoint(
    "a producer sees its own jobs only",
    "every role may inspect any job, whoever enqueued or claimed it",
    async ({ operation, context, payload, model }, inner) => {
      const outcome = await inner(operation, context, payload);
      if (operation !== "inspect" || context.callerInstance !== "producer2") return outcome;
      const own = [...model.table.byRow.values()].some(({ asked }) => asked.producer === "producer2");
      return outcome.kind === "success" && !own ? domain("job_not_found") : outcome;
    },
  ),
  inStore(
    "evidence is shown of jobs that run only",
    "a new job is queued, without an attempt, a lease or a code",
    (model) => ({
      inspect: async (id, call) =>
        jobOf(model, id)?.place.is === "ready" ? undefined : model.store.inspect(id, call),
    }),
  ),
  atEndpoint(
    "an unknown queue is an empty one",
    "a queue that is not configured is invalid_job to a producer and invalid_queue to a worker",
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      const invalid = outcome.kind === "domain" && outcome.value === "invalid_queue";
      return invalid ? domain("no_job_available") : outcome;
    },
  ),
  withRoles(
    "a queue needs no configuration",
    "a queue that is not configured is invalid_job to a producer and invalid_queue to a worker",
    (config) => ({ queues: [...config.queues, "not.configured"] }),
  ),
  rewriting(
    "queues are compared without case",
    "a queue that is not configured is invalid_job to a producer and invalid_queue to a worker",
    (fields) => ({
      ...fields,
      ...(typeof fields["queue"] === "string" && { queue: fields["queue"].toLowerCase() }),
    }),
  ),
  atEndpoint(
    "a failure code is judged before the lease",
    "fail judges id and token before the code, and the code before the lease",
    ({ operation, context, payload, fields }, inner) => {
      const { failure_code: code } = fields;
      const bad = operation === "fail" && typeof code === "string" && code.includes(" ");
      return bad ? domain("invalid_failure") : inner(operation, context, payload);
    },
  ),
  atEndpoint(
    "a failure code is judged after the lease",
    "fail judges id and token before the code, and the code before the lease",
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      const invalid = outcome.kind === "domain" && outcome.value === "invalid_failure";
      return invalid ? domain("invalid_lease") : outcome;
    },
  ),
];
