import { expect, test } from "bun:test";
import { claimOne, openAttemptWorld, workOne } from "../attempt/testing/attempt-world.ts";
import { checkJobHost } from "./check-job-host.ts";

test.each([
  [
    "a state that no event tells",
    "update job set state = 'cancelled', result = null",
    "its row says cancelled",
  ],
  ["a revision without its event", "update job set revision = 9", "its row has revision 9, its events 3"],
  ["a gap in the events", "delete from event where revision = 2", "its events are no history"],
  ["a count of attempts that never ran", "update job set attempts = 2", "2 attempts, but it ran 1 times"],
  [
    "an artifact of another attempt that counts",
    "update artifact set attempt = '1.9'",
    "artifact 1 of the lost attempt 1.9 counts",
  ],
  [
    "a checkpoint whose parent does not count",
    "update checkpoint set discarded_at = now() where ordinal = 1",
    "checkpoint 2 follows 1, and none is before it",
  ],
  ["a line that was not counted", "update job set log_count = 0", "1 lines up to 1, and 0 counted"],
])("%s is found", async (_, change, problem) => {
  await using world = await openAttemptWorld();
  const id = await world.accept("checkpoint", async (_, services) => {
    await services.workspace.write("a.vtk", "mesh");
    const parent = await services.publishCheckpoint({ paths: ["a.vtk"], metadata: { step: 1 } });
    await services.publishCheckpoint({ paths: ["a.vtk"], metadata: { step: 2 }, parent });
    await services.publishArtifact({ role: "mesh", path: "a.vtk", mediaType: "model/vtk" });
    await services.writeLog({ level: "info", message: "a line" });
    return { cells: 1 };
  });
  const backend = world.backend();
  await workOne(backend, await claimOne(backend));
  await checkJobHost(world.sql);
  await world.sql
    .unsafe(`set session_replication_role = replica; ${change}; set session_replication_role = default`)
    .simple();
  await expect(checkJobHost(world.sql)).rejects.toThrow(`job ${id}`);
  await expect(checkJobHost(world.sql)).rejects.toThrow(problem);
  await world.forgetJobs();
});
