import { fence } from "../../plugin/operator/fence.ts";
import {
  openPostgres,
  type PostgresBackend,
  type PostgresBundle,
} from "../../tests/contract/support/backends.ts";
import {
  type JobsConformance,
  type JobsWorld,
  usualConfiguration,
  type WorldConfiguration,
} from "../jobs-conformance.ts";

/** The plugin on a real database whose clock the tests move. */
export function postgresConformance(backend: PostgresBackend): JobsConformance<PostgresWorld> {
  return {
    name: backend,
    provide: (configuration) => openWorld(backend, configuration),
    clock: ({ bundle }) => bundle.clock,
    maintain: ({ bundle }) => bundle.maintain(),
    async fence({ bundle: { database } }) {
      const report = await fence({ databaseUrl: database.url, schema: "jobs" });
      if (!report.ok) throw new Error(report.message);
      // The operator's command reads the server's own clock, of which the one of the tests is behind.
      await database.query("update lease set expires_at = lenso_test_clock.now()");
    },
    async holdLease({ bundle: { database } }) {
      const blocker = await database.block("select from lease for update");
      return { waited: () => database.waiting(1), release: () => blocker.commit() };
    },
    endpoint: ({ bundle }) => bundle.endpoint,
  };
}

interface PostgresWorld extends JobsWorld {
  readonly bundle: PostgresBundle;
}

async function openWorld(
  backend: PostgresBackend,
  configuration: WorldConfiguration,
): Promise<PostgresWorld> {
  const bundle = await openPostgres(backend, differences(configuration));
  return {
    bundle,
    handle: (caller) => bundle.handle(caller),
    close: async () => bundle[Symbol.asyncDispose](),
  };
}

/** What is not as usual: a host of the usual configuration goes on from one test to the next. */
function differences(configuration: WorldConfiguration): Partial<WorldConfiguration> {
  const usual: object = usualConfiguration;
  const entries = Object.entries(configuration).filter(
    ([key, value]) => !Bun.deepEquals(value, usual[key as keyof object]),
  );
  return Object.fromEntries(entries);
}
