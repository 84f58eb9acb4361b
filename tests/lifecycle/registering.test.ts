import { expect, test } from "bun:test";
import { secretsFromMap } from "../../host-fixtures/index.ts";
import { createJobsPlugin } from "../../plugin/plugin.ts";
import { databaseClock } from "../../plugin/store/sql-context.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { configurationOf, drivers } from "../postgres/support/jobs-host.ts";
import { observer, untilLocksWaitedFor } from "../postgres/support/observe.ts";
import { testServer } from "../support/test-server.ts";

await testServer();

test.each(drivers)(
  "a call ends at its deadline or abort while its Instance still records itself, over the driver %s",
  async (driver) => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    const secrets = secretsFromMap({ "jobs/database": url }).instantiate({
      instanceKey: "secrets",
      configuration: undefined,
    });
    const handle = {
      invoke: (operation: string, payload: unknown) =>
        secrets.endpoints[0]!.invokeRequest(
          operation,
          { requestId: "1", callerInstance: "jobs", cancelled: false },
          payload,
        ),
    };
    const instance = createJobsPlugin({ clock: databaseClock, maintenanceIntervalMs: 3_600_000 }).instantiate(
      {
        instanceKey: "jobs",
        configuration: configurationOf({ driver }),
      },
    );
    const context = {
      instanceKey: "jobs",
      signal: new AbortController().signal,
      deadline: performance.now() + 10_000,
      handle: () => handle,
      handles: () => [handle],
    };
    await instance.prepare?.(context);
    const blocker = await sql.reserve();
    await blocker`begin`;
    await blocker`lock table jobs.instance in exclusive mode`;
    const activated = Promise.resolve(instance.activate?.(context)).then(
      () => "activated",
      () => "failed",
    );
    await untilLocksWaitedFor(sql, 1);
    const claim = (ends: { readonly deadline?: string; readonly signal?: AbortSignal }) =>
      instance.endpoints[0]!.invokeRequest(
        "claim",
        { requestId: "2", callerInstance: "worker", cancelled: false, ...ends },
        { queue: "mail" },
      );
    const leave = new AbortController();
    const aborted = claim({ signal: leave.signal });
    const late = await claim({ deadline: "PT0.1S" });
    leave.abort();
    expect(late).toMatchObject({ kind: "runtime", failure: { kind: "deadline_exceeded" } });
    expect(await aborted).toMatchObject({ kind: "runtime", failure: { kind: "cancelled" } });
    // Both ended while the Instance was still kept from its schema.
    await untilLocksWaitedFor(sql, 1);
    await blocker`rollback`;
    await blocker.release();
    expect(await activated).toBe("activated");
    expect(await claim({})).toEqual({ kind: "domain", value: "no_job_available" });
    await instance.deactivate?.(context);
  },
);
