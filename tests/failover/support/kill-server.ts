import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PostgresServer } from "../../../host-fixtures/index.ts";
import { eventually } from "../../task-faults/support/eventually.ts";

/** Kills a server's first process with SIGKILL; the others end when they notice. Resolves when nobody takes connections any more. */
export async function killServer(server: PostgresServer): Promise<void> {
  const [pid] = readFileSync(join(server.dataDirectory, "postmaster.pid"), "utf8").split("\n");
  process.kill(Number(pid), "SIGKILL");
  const { hostname, port } = new URL(server.url);
  await eventually("the server to be gone", () =>
    Bun.connect({ hostname, port: Number(port), socket: { data: () => undefined } }).then(
      (socket) => {
        socket.end();
        return false;
      },
      () => true,
    ),
  );
}
