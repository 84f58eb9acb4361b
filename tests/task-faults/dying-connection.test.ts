import { expect, test } from "bun:test";
import pg from "pg";
import { migratePostgresTaskQueue } from "../../tasks/postgres/index.ts";
import { type LinkTap, startProxy } from "../faults/support/proxy.ts";
import { faultDatabase } from "./support/fault-database.ts";
import { openProviders } from "./support/open-provider.ts";

/** What a server says to a connection that an administrator ends. */
const fatal = errorResponse({ S: "FATAL", V: "FATAL", C: "57P01", M: "terminating connection" });

function errorResponse(fields: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(
    `${Object.entries(fields)
      .flatMap(([key, value]) => [key, value, "\0"])
      .join("")}\0`,
  );
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Ends a connection in the very moment in which it becomes ready: one packet says both. */
class DiesWhenReady implements LinkTap {
  readonly outlivesClient = false;
  #dies = true;

  fromClient(bytes: Buffer, send: (bytes: Buffer) => void): void {
    send(bytes);
  }

  fromServer(bytes: Buffer, send: (bytes: Buffer) => void): void {
    const isReady = bytes.at(-6) === "Z".charCodeAt(0); // type, length and state of the last message
    send(this.#dies && isReady ? Buffer.concat([bytes, fatal]) : bytes);
    if (isReady) this.#dies = false;
  }
}

// An error that nobody listens for would end the process: here it fails the test.
test.each([
  ["pg-boss", "its own pool"],
  ["pg-boss", "a lent pg.Pool"],
  ["lenso.jobs@1", "a lent pg.Pool"],
] as const)(
  "%s over %s: a connection that is killed in the moment it is ready ends a call, not the process",
  async (kind, how) => {
    const url = await faultDatabase();
    if (kind === "pg-boss") await migratePostgresTaskQueue({ connectionString: url, queueName: "q" });
    let dying = true;
    const forwards: LinkTap = {
      outlivesClient: false,
      fromClient: (bytes, send) => send(bytes),
      fromServer: (bytes, send) => send(bytes),
    };
    await using proxy = await startProxy(url, () => (dying ? new DiesWhenReady() : forwards));
    const pool = new pg.Pool({ connectionString: proxy.url, max: 2 });
    pool.on("error", () => undefined); // its owner's
    await using providers = await openProviders({
      kind,
      url: kind === "pg-boss" ? proxy.url : url,
      queues: ["q"],
      makeQueues: false,
    });
    const provider = providers.open("q", how === "its own pool" ? {} : { pool });
    const code = await provider.identity().then(
      () => "answered",
      (error: unknown) => (error as Error).constructor.name,
    );
    expect(code).not.toBe("answered");
    dying = false;
    const asked = await provider.identity().catch(() => provider.identity());
    expect(asked.id).toMatch(/^[0-9a-f-]{36}$/);
    await provider.close();
    await pool.end();
  },
);
