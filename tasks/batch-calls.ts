/** How long a batch may be under way, in ms, before the next one no longer waits for it: its connection may be dead, and others not. */
const slowMs = 1000;
/** Batches under way at once, slow ones included. */
const mostBatches = 4;

interface Call<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets calls that come while one is under way share the next one. One at a time while answers are prompt, so a single caller never waits,
 * and a hundred take two round trips instead of a hundred. `run` answers in the order of its items; when it rejects, all of them do. It may
 * run beside itself, when a batch takes long.
 */
export function batchCalls<Item, Answer>(
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
  most: number,
): (item: Item) => Promise<Answer> {
  const waiting: Call<Item, Answer>[] = [];
  let batches = 0;
  let promptBatches = 0;
  let isScheduled = false;

  const schedule = (): void => {
    if (isScheduled || waiting.length === 0 || promptBatches > 0 || batches >= mostBatches) return;
    isScheduled = true;
    // What the same turn of the event loop asks goes along.
    queueMicrotask(() => {
      isScheduled = false;
      void runNext();
    });
  };
  const runNext = async (): Promise<void> => {
    const calls = waiting.splice(0, most);
    batches += 1;
    promptBatches += 1;
    let isPrompt = true;
    const endPrompt = (): void => {
      if (isPrompt) promptBatches -= 1;
      isPrompt = false;
    };
    const slow = setTimeout(() => {
      endPrompt();
      schedule();
    }, slowMs);
    try {
      const answers = await run(calls.map(({ item }) => item));
      calls.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of calls) reject(error);
    } finally {
      clearTimeout(slow);
      endPrompt();
      batches -= 1;
      schedule();
    }
  };
  return (item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
