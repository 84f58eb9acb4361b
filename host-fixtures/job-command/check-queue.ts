import { CommandFailure } from "../app-command/command-failure.ts";
import type { LoadedJobHost } from "./load-job-host.ts";

/**
 * Refuses a job host that its Jobs Instance would not serve: another `lease_seconds`, a queue that it does not have, or an Instance that is not
 * its producer and worker. What its configuration does not say, as that of another plugin may not, is left to the first call.
 *
 * @throws CommandFailure `config-invalid`, with every place
 */
export function checkQueue({ composition, options, instance, jobs }: LoadedJobHost): void {
  const bound = composition.bindings.find(
    ({ consumer, requirement }) => consumer === instance && requirement === jobs,
  );
  const provider = composition.instances.find(({ key }) => key === bound?.provider);
  if (provider === undefined) return; // to start the composition says more
  const given = (provider.configuration ?? {}) as Readonly<Record<string, unknown>>;
  const problems: string[] = [];
  const { leaseSeconds, queue } = options;
  const lease = given["lease_seconds"];
  if (typeof lease === "number" && lease !== leaseSeconds)
    problems.push(
      `lease_seconds: expected ${leaseSeconds}, the leaseSeconds of jobHostOptions, got ${lease}`,
    );
  const expectNamed = (key: string, name: string, what: string): void => {
    const names = given[key];
    if (Array.isArray(names) && !names.includes(name))
      problems.push(`${key}: expected ${what} "${name}" among them`);
  };
  expectNamed("queues", queue, "the queue of jobHostOptions,");
  expectNamed("producer_instances", instance, "the Instance of the job host,");
  expectNamed("worker_instances", instance, "the Instance of the job host,");
  if (problems.length === 0) return;
  const places = problems.map((problem) => `instances.${provider.key}.configuration.${problem}`);
  throw new CommandFailure(3, "config-invalid", `the composition: ${places.join("; ")}`);
}
