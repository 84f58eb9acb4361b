import type { Migration } from "../../../plugin/store/schema/migrations.ts";
import { adviseOnDatabase, placeOf } from "../../advise-on-database.ts";
import { TaskQueueError } from "../../task-queue-error.ts";
import {
  checkMigrateOptions,
  databaseOf,
  type JobsTaskDatabase,
  type JobsTaskProviderOptions,
} from "../options.ts";
import { RoleUnfit } from "./grant-runtime.ts";
import { migrateSchema } from "./migrate-schema.ts";
import { readMigrationsOf } from "./migrations.ts";
import { taskSchema } from "./schema-owner.ts";

/** Where to install the record. The provider's options fit as they are. */
export type MigrateJobsTaskQueueOptions = JobsTaskDatabase &
  Partial<JobsTaskProviderOptions> & {
    /**
     * A role that the provider logs in as, other than the one that migrates: it gets exactly what the provider needs, also on a schema that
     * exists, and can then change no table, no other row of the schema and nothing that a task was recorded with. Name it at every
     * migration, since a later one may need more. Default: no grants.
     */
    readonly runtimeRole?: string;
  };

/**
 * Installs the record of `createJobsTaskProvider`, or brings it to this build's version: all or nothing, in one transaction. Running
 * it again changes nothing, and any number at once are safe. A schema that something else made is refused, never adopted.
 *
 * @throws TaskQueueError `invalid-options`, or `provider-unavailable` with the reason in `cause`.
 * @example
 * await migrateJobsTaskQueue({ connectionString: process.env.MIGRATION_URL, runtimeRole: "reports_app" });
 */
export async function migrateJobsTaskQueue(options: MigrateJobsTaskQueueOptions): Promise<void> {
  return migrateWith(await readMigrationsOf(taskSchema), options);
}

/** @internal The same for a build that knows these migrations. */
export async function migrateWith(
  migrations: readonly Migration[],
  options: MigrateJobsTaskQueueOptions,
): Promise<void> {
  const checked = checkMigrateOptions(options);
  const { schema, runtimeRole } = checked;
  try {
    await migrateSchema(taskSchema, migrations, { database: databaseOf(checked), schema, runtimeRole });
  } catch (cause) {
    if (cause instanceof RoleUnfit) throw new TaskQueueError("invalid-options", "migrate", { cause });
    const hints = {
      place: placeOf(checked.connectionString),
      grants: "migrate as a role that may create the schema, or owns it",
    };
    throw new TaskQueueError("provider-unavailable", "migrate", {
      cause,
      advice: adviseOnDatabase(cause, hints),
    });
  }
}
