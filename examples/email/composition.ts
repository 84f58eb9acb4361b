import { jobsPlugin } from "lenso-jobs-plugin";
import type { PluginFactory } from "lenso-jobs-plugin/capability";
import type { BindingSpec, Composition } from "lenso-jobs-plugin/host-fixtures";

/** The schemas of this run: one for each Jobs Instance, and one of the email worker's own. */
export interface Schemas {
  readonly mail: string;
  readonly billing: string;
  readonly emailWorker: string;
}

/** How long a claim holds: short, so that the demo need not wait long for a dead worker's lease to expire. */
export const leaseSeconds = 3;
const times = { lease_seconds: leaseSeconds, retry_base_seconds: 1, retry_max_seconds: 8 };

/**
 * Who is there, and who may call whom. Two Jobs Instances, because mail and money are two matters of trust: each has its own
 * schema, its own secret and its own lists of who may do what. A binding lets an Instance call; a role lets it do something.
 */
export function emailComposition(secrets: PluginFactory, schemas: Schemas): Composition {
  return {
    instances: {
      secrets: { plugin: secrets },
      "jobs-mail": {
        plugin: jobsPlugin,
        configuration: {
          ...times,
          schema: schemas.mail,
          database_url_secret: "mail/database-url",
          queues: ["mail"],
          producer_instances: ["accounts"],
          worker_instances: ["email-worker"],
          observer_instances: ["operations"],
        },
      },
      "jobs-billing": {
        plugin: jobsPlugin,
        configuration: {
          ...times,
          schema: schemas.billing,
          database_url_secret: "billing/database-url",
          queues: ["invoices"],
          producer_instances: ["accounts"],
          worker_instances: ["billing-worker"],
          observer_instances: ["operations"],
        },
      },
      accounts: { plugin: businessModule("accounts", ["mail", "billing"]) },
      "email-worker": { plugin: businessModule("email-worker", ["mail", "billing"]) },
      "billing-worker": { plugin: businessModule("billing-worker", ["billing"]) },
      operations: { plugin: businessModule("operations", ["mail", "billing"]) },
      marketing: { plugin: businessModule("marketing", ["mail"]) },
    },
    bindings: [
      { consumer: "jobs-mail", requirement: "secrets", provider: "secrets" },
      { consumer: "jobs-billing", requirement: "secrets", provider: "secrets" },
      ...["accounts", "email-worker", "operations", "marketing"].map((consumer) => bind(consumer, "mail")),
      ...["accounts", "email-worker", "operations", "billing-worker"].map((consumer) =>
        bind(consumer, "billing"),
      ),
    ],
  };
}

function bind(consumer: string, requirement: "mail" | "billing"): BindingSpec {
  return { consumer, requirement, provider: `jobs-${requirement}` };
}

/** A module that calls `lenso.jobs@1` and provides nothing. A real one would do its work from `activate` on. */
function businessModule(packageId: string, requirements: readonly string[]): PluginFactory {
  return {
    packageId,
    packageVersion: "1.0.0",
    requirements: requirements.map((id) => ({
      id,
      capability: "lenso.jobs@1",
      version: "1.0.0",
      cardinality: "one",
    })),
    capabilities: [],
    instantiate: () => ({ endpoints: [] }),
  };
}
