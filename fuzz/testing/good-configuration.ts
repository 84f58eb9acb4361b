/** A configuration of a Jobs Instance as it should be. */
export const goodConfiguration: Readonly<Record<string, unknown>> = {
  schema: "jobs",
  database_url_secret: "jobs/url",
  lease_seconds: 30,
  retry_base_seconds: 5,
  retry_max_seconds: 60,
  queues: ["mail", "other"],
  producer_instances: ["producer"],
  worker_instances: ["worker"],
  observer_instances: ["observer"],
};
