import { expect, test } from "bun:test";
import { warningsOf } from "../failover/support/warnings-of.ts";
import { type LinkTap, startProxy } from "../faults/support/proxy.ts";
import { newJob, ok } from "../postgres/support/jobs.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers, startJobs } from "../postgres/support/jobs-host.ts";
import { until } from "../postgres/support/observe.ts";

/** A link that listens, as far as it says, and then says no more. */
class DeafLink implements LinkTap {
  readonly outlivesClient = false;
  readonly #onListen: () => void;
  #deaf = false;

  constructor(onListen: () => void) {
    this.#onListen = onListen;
  }

  fromClient(bytes: Buffer, send: (bytes: Buffer) => void): void {
    send(bytes);
  }

  fromServer(bytes: Buffer, send: (bytes: Buffer) => void): void {
    if (this.#deaf) return;
    send(bytes);
    if (!bytes.includes("LISTEN\0")) return;
    this.#deaf = true;
    this.#onListen();
  }
}

test.concurrent.each(drivers)(
  "over the driver %s a listener that never hears a thing is replaced again and again, told of once, and a job is noticed all the same",
  async (driver) => {
    const { url } = await jobsDatabase();
    const key = `jobs-deaf-${driver}`;
    using warnings = warningsOf(key);
    let listeners = 0;
    await using proxy = await startProxy(url, () => new DeafLink(() => (listeners += 1)));
    const configuration = { poll_interval_ms: 100 };
    await using far = await startJobs({ url: proxy.url, driver, key, echoMs: 200, configuration });
    await using near = await startJobs({ url, key });
    const ended = far.signals.wait({ queues: ["mail"], timeout_ms: 60_000 });
    await until("a third listener", async () => listeners >= 3);
    expect(warnings.seen).toHaveLength(1);
    expect(warnings.seen[0]).toContain("every 100 ms");
    ok(await near.producer.enqueue(newJob()));
    expect(ok(await ended)).toEqual({ queue: "mail" });
  },
);

/** A link whose answers come late, unless it listens. */
class LateLink implements LinkTap {
  readonly outlivesClient = false;
  readonly #onListen: () => void;
  #listens = false;

  constructor(onListen: () => void) {
    this.#onListen = onListen;
  }

  fromClient(bytes: Buffer, send: (bytes: Buffer) => void): void {
    send(bytes);
  }

  fromServer(bytes: Buffer, send: (bytes: Buffer) => void): void {
    if (this.#listens) return send(bytes);
    this.#listens = bytes.includes("LISTEN\0");
    if (this.#listens) this.#onListen();
    setTimeout(() => send(bytes), 30);
  }
}

test.concurrent.each(drivers)(
  "over the driver %s a notification that overtakes its registration's answer has been heard, and the listener stays",
  async (driver) => {
    const { url } = await jobsDatabase();
    let listeners = 0;
    await using proxy = await startProxy(url, () => new LateLink(() => (listeners += 1)));
    const configuration = { poll_interval_ms: 100 };
    await using jobs = await startJobs({ url: proxy.url, driver, echoMs: 300, configuration });
    expect(ok(await jobs.signals.wait({ queues: ["mail"], timeout_ms: 1500 }))).toEqual({ queue: null });
    expect(listeners).toBe(1);
  },
);
