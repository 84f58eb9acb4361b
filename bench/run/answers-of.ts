import { inLanes } from "../sides/lanes.ts";
import type { Load, Side } from "../sides/side.ts";
import type { Question, Questions, Told } from "./protocol.ts";

type Answers = {
  [Key in Exclude<Question, "open" | "clock">]: (
    ask: Questions[Key]["ask"],
  ) => Promise<Questions[Key]["answer"]>;
};

/** What a side's process can be asked once its side is open. */
export function answersOf(side: Side, { now, say }: { now(): number; say(message: Told): void }): Answers {
  const work = new Work(side, now, say);
  const timed = async (run: () => Promise<unknown>) => {
    const startedAt = now();
    await run();
    return { startedAt, endedAt: now() };
  };
  const queues = (): NonNullable<Side["manyQueues"]> => {
    if (side.manyQueues === undefined) throw new Error("this side has no queues by the thousand");
    return side.manyQueues;
  };
  return {
    settings: async ({ load }) => side.settings(load),
    enqueue: ({ count, width }) => timed(() => inLanes(width, count, () => side.enqueue(0))),
    bulk: ({ count, times }) => timed(() => inLanes(1, times, () => side.bulk(count))),
    life: ({ count, width }) => life(side, work, { count, width, timed }),
    async claims({ count }) {
      if (side.claim === undefined) throw new Error("this side gives no job by hand");
      const durations: number[] = [];
      while (durations.length < count) {
        const startedAt = now();
        const end = await side.claim();
        durations.push(now() - startedAt);
        if (end === undefined) throw new Error(`only ${durations.length - 1} of ${count} jobs were there`);
        await end();
      }
      return durations;
    },
    prepareQueues: async ({ queues: count }) => (await queues().prepare(count), null),
    enqueueQueues: ({ queues: count, width }) =>
      timed(() => inLanes(width, count, (queue) => queues().enqueue(queue))),
    takeQueues: ({ queues: count, width }) =>
      timed(() => inLanes(width, count, (queue) => queues().take(queue))),
    startWork: async ({ load }) => (await work.start(load), null),
    stopWork: async () => (await work.stop(), null),
    async sendMarked({ first, count, pauseMs }) {
      const sent: number[] = [];
      for (let index = 0; index < count; index += 1) {
        await pause(pauseMs * (0.5 + Math.random()));
        sent.push(now());
        await side.enqueue(first + index);
      }
      return sent;
    },
    entered: async () => work.takeEntered(),
    steady: (ask) => steady(side, work, ask),
    async usage() {
      const { user, system } = process.cpuUsage();
      const { heapUsed, rss } = process.memoryUsage();
      return { cpuMicroseconds: user + system, heapBytes: heapUsed, residentBytes: rss };
    },
    close: async () => (await side.close(), null),
  };
}

/** The worker of a side's process and what it has seen. */
class Work {
  readonly #side: Side;
  readonly #now: () => number;
  readonly #say: (message: Told) => void;
  #stop: (() => Promise<void>) | undefined;
  #began = false;
  #entered: [number, number][] = [];
  #unsaid = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  ended = 0;
  /** Called with each marker that is not 0. */
  onEntered: ((marker: number) => void) | undefined;

  constructor(side: Side, now: () => number, say: (message: Told) => void) {
    this.#side = side;
    this.#now = now;
    this.#say = say;
  }

  async start(load: Load): Promise<void> {
    this.#began = false;
    this.ended = 0;
    this.#stop = await this.#side.work(load, {
      entered: (marker) => {
        if (!this.#began) {
          this.#began = true;
          this.#say({ event: "began", at: this.#now() });
        }
        if (marker === 0) return;
        this.#entered.push([marker, this.#now()]);
        this.onEntered?.(marker);
      },
      ended: (count) => {
        this.ended += count;
        this.#unsaid += count;
        // Telling each one would cost the measured process more than the job.
        if (this.#unsaid > 0) this.#timer ??= setTimeout(() => this.#tell(), 10);
      },
    });
  }

  async stop(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
    this.#tell();
  }

  takeEntered(): [number, number][] {
    return this.#entered.splice(0);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#unsaid === 0) return;
    this.#say({ event: "ended", at: this.#now(), count: this.#unsaid });
    this.#unsaid = 0;
  }
}

/**
 * One job after another in each lane: by hand where the side can, otherwise through its worker, until the handler is entered. The worker
 * is left running, so that whoever asked can still read what its connections have cost.
 */
async function life(
  side: Side,
  work: Work,
  options: {
    readonly count: number;
    readonly width: number;
    timed(run: () => Promise<unknown>): Promise<Questions["life"]["answer"]>;
  },
): Promise<Questions["life"]["answer"]> {
  const { count, width, timed } = options;
  const { claim } = side;
  if (claim !== undefined) {
    let left = count;
    const lane = async (): Promise<void> => {
      let end = async (): Promise<void> => undefined;
      while (left > 0) {
        left -= 1;
        await side.enqueue(0);
        if (side.claimsWhileEnding !== true) await end();
        const [taken] = await Promise.all([claim(), side.claimsWhileEnding && end()]);
        // Another lane may have taken the job of this one between its two looks.
        let next = taken;
        while (next === undefined) next = await claim();
        end = next;
      }
      await end();
    };
    return timed(() => inLanes(width, width, lane));
  }
  await work.start(width === 1 ? "prompt" : "best");
  const waiting = new Map<number, () => void>();
  work.onEntered = (marker) => waiting.get(marker)?.();
  try {
    return await timed(() =>
      inLanes(width, count, async (index) => {
        const entered = new Promise<void>((resolve) => waiting.set(index + 1, resolve));
        await side.enqueue(index + 1);
        await entered;
        waiting.delete(index + 1);
      }),
    );
  } finally {
    work.onEntered = undefined;
    work.takeEntered();
  }
}

/** With the worker running, keeps about ten times `atOnce` jobs waiting: producers stop when there are more, as a queue under steady load has them. */
async function steady(
  side: Side,
  work: Work,
  { seconds, atOnce }: Questions["steady"]["ask"],
): Promise<readonly number[]> {
  let producing = true;
  let enqueued = 0;
  const produce = async (): Promise<void> => {
    while (producing) {
      if (enqueued - work.ended > 10 * atOnce) {
        await pause(1);
        continue;
      }
      await side.bulk(atOnce / 2);
      enqueued += atOnce / 2;
    }
  };
  const producers = Promise.all([produce(), produce()]);
  const perSecond: number[] = [];
  await pause(1000); // to come up to speed
  for (let second = 0, before = work.ended; second < seconds; second += 1) {
    const startedAt = performance.now();
    await pause(1000);
    perSecond.push(((work.ended - before) * 1000) / (performance.now() - startedAt));
    before = work.ended;
  }
  producing = false;
  await producers;
  return perSecond;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
