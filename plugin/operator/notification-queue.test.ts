import { expect, test } from "bun:test";
import { SQL } from "bun";
import { startPostgres } from "../../host-fixtures/index.ts";
import { check, setup } from "./index.ts";

test("check warns of a notification queue that fills, and of nothing else", async () => {
  // As small as a queue can be made, of 64 pages; which the embedded server can do, and those before 17 cannot.
  const server = await startPostgres({ settings: { max_notify_queue_pages: 64 } });
  const options = { databaseUrl: server.url, schema: "jobs" };
  const listener = new SQL(server.url, { max: 1 });
  const sender = new SQL(server.url, { max: 1 });
  try {
    await setup(options);
    expect(await check(options)).toMatchObject({ ok: true, warnings: [] });
    await listener.unsafe("listen news").simple();
    await listener.unsafe("begin").simple();
    for (let page = 0; page < 40; page += 1) await sender`select pg_notify('news', repeat('x', 7000))`;
    expect(await check(options)).toMatchObject({
      ok: true,
      code: "startable",
      warnings: [
        expect.stringMatching(/^the server's notification queue is \d\d % full: .*pg_stat_activity/),
      ],
    });
  } finally {
    await Promise.all([listener.close({ timeout: 0 }), sender.close({ timeout: 0 })]);
    await server.stop();
  }
}, 60_000);
