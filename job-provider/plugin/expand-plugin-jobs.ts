import type { JobProviderRegistration } from "../provider/define-job-provider.ts";

/** What this layer looks at in a plugin: who it is, and the providers that it brings. */
export interface JobsPlugin<Jobs extends readonly AnyRegistration[] = readonly AnyRegistration[]> {
  /** Named when two plugins bring the same provider. */
  readonly id: string;
  /** What the providers' factories returned. Default: none. */
  readonly jobs?: Jobs;
}

/** Any provider's registration, whatever its types. */
export type AnyRegistration = JobProviderRegistration;

/** All providers that a list of plugins brings, as one tuple in the plugins' order. */
export type ExpandPluginJobs<Plugins extends readonly JobsPlugin[]> = Plugins extends readonly [
  infer First extends JobsPlugin,
  ...infer Rest extends readonly JobsPlugin[],
]
  ? readonly [...JobsOf<First>, ...ExpandPluginJobs<Rest>]
  : Plugins extends readonly []
    ? readonly []
    : readonly JobsOf<Plugins[number]>[number][];

type JobsOf<Plugin extends JobsPlugin> = Plugin extends {
  readonly jobs: infer Jobs extends readonly AnyRegistration[];
}
  ? Jobs
  : readonly [];

/**
 * The providers of all plugins, in their order, for a host's `providers`.
 *
 * @throws TypeError when two plugins, or one plugin twice, bring providers of the same id; it names both origins
 */
export function expandPluginJobs<const Plugins extends readonly JobsPlugin[]>(
  plugins: Plugins,
): ExpandPluginJobs<Plugins> {
  const origins = new Map<string, string>();
  const jobs = plugins.flatMap(({ id: origin, jobs = [] }) => {
    for (const { id } of jobs) {
      const first = origins.get(id);
      if (first !== undefined)
        throw new TypeError(
          `job provider "${id}" is brought by plugin "${first}" and by plugin "${origin}": ids are unique, so leave one out`,
        );
      origins.set(id, origin);
    }
    return jobs;
  });
  return Object.freeze(jobs) as unknown as ExpandPluginJobs<Plugins>;
}
