export { type JobsConfig, parseJobsConfig } from "./config.ts";
export { jobsPlugin } from "./plugin.ts";
