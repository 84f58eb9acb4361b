import { placeOf } from "../../../tasks/advise-on-database.ts";
import { RoleUnfit } from "../../../tasks/jobs/migration/grant-runtime.ts";
import { migrateSchema } from "../../../tasks/jobs/migration/migrate-schema.ts";
import { readMigrationsOf } from "../../../tasks/jobs/migration/migrations.ts";
import { asHostError } from "../as-host-error.ts";
import { checkMigrateJobHostOptions, type JobHostDatabase, recordsOf } from "../host-options.ts";
import { JobHostError } from "../job-host-error.ts";
import { jobHostSchema } from "./job-host-schema.ts";

/** Where to install the records of a job host. */
export interface MigrateJobHostOptions extends JobHostDatabase {
  /**
   * A role that the host logs in as, other than the one that migrates: it gets exactly what the host needs, also on a schema that exists, and
   * can then change no table, no event and nothing that a job was accepted with. Name it at every migration, since a later one may need
   * more. Default: no grants.
   */
  readonly runtimeRole?: string;
}

/**
 * Installs the records of `createJobHost`, or brings them to this build's version: all or nothing, in one transaction. Running it again
 * changes nothing, and any number at once are safe. A schema that something else made is refused, never adopted.
 *
 * @throws JobHostError `invalid-options`, `schema-unfit` or `unavailable`, with the reason in `cause`
 * @example
 * await migrateJobHost({ connectionString: process.env.MIGRATION_URL, runtimeRole: "simulations_app" });
 */
export async function migrateJobHost(options: MigrateJobHostOptions): Promise<void> {
  const checked = checkMigrateJobHostOptions(options);
  const { schema, runtimeRole } = checked;
  const migrations = await readMigrationsOf(jobHostSchema);
  try {
    await migrateSchema(jobHostSchema, migrations, { database: recordsOf(checked), schema, runtimeRole });
  } catch (cause) {
    if (cause instanceof RoleUnfit) throw new JobHostError("invalid-options", { cause });
    const place = placeOf(checked.connectionString);
    const grants = "migrate as the schema's owner, or as a role that may create schemas in the database";
    const told = asHostError(cause, { place, grants });
    throw told instanceof JobHostError ? told : new JobHostError("unavailable", { cause });
  }
}
