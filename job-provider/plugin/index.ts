export {
  type AnyRegistration,
  type ExpandPluginJobs,
  expandPluginJobs,
  type JobsPlugin,
} from "./expand-plugin-jobs.ts";
