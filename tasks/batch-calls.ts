/**
 * Lets calls that come while one is under way share the next one. One at a time, so a single caller never waits, and a hundred take
 * two round trips instead of a hundred. `run` answers in the order of its items; when it rejects, all of them do.
 */
export function batchCalls<Item, Answer>(
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
  most: number,
): (item: Item) => Promise<Answer> {
  interface Call {
    readonly item: Item;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (error: unknown) => void;
  }
  const waiting: Call[] = [];
  let running = false;
  const runAll = async (): Promise<void> => {
    running = true;
    await Promise.resolve(); // what the same turn of the event loop asks goes along
    while (waiting.length > 0) {
      const calls = waiting.splice(0, most);
      try {
        const answers = await run(calls.map(({ item }) => item));
        calls.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
      } catch (error) {
        for (const { reject } of calls) reject(error);
      }
    }
    running = false;
  };
  return (item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!running) void runAll();
    });
}
