/** How many files are handled at a time: enough to keep a disk busy, few enough for any limit of open files. */
const AT_A_TIME = 8;

/**
 * Calls for each item, a few at a time. After a failure no further call starts; it rejects with the first one once those under way have ended.
 */
export async function eachInParallel<T>(items: Iterable<T>, call: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (let next = rest.next(); !next.done && failures.length === 0; next = rest.next())
      await call(next.value).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  if (failures.length > 0) throw failures[0];
}
