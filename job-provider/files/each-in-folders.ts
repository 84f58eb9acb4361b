import { type AnchoredFolder, withFolderBelow } from "./anchored-folder.ts";
import { eachInParallel } from "./each-in-parallel.ts";

/** Most files for which a folder stays open: it is opened seldom, and many files of one folder still go in parallel. */
const FILES_AT_A_TIME = 32;

/**
 * Calls for each item with the open folder of its file and the file's name there, a few at a time. After a failure no further call starts; it
 * rejects with the first one once those under way have ended.
 *
 * @param namesOf the names on the way from the top to the file, the file's own last
 * @param make makes the folders that are missing
 */
export async function eachInFolders<T>(
  top: AnchoredFolder,
  items: Iterable<T>,
  namesOf: (item: T) => readonly string[],
  call: (item: T, folder: AnchoredFolder, name: string) => Promise<void>,
  make = false,
): Promise<void> {
  const open = new Map<string, Slice<T>>();
  const slices: Slice<T>[] = [];
  for (const item of items) {
    const names = namesOf(item);
    const [folders, name] = [names.slice(0, -1), names.at(-1) as string];
    const key = folders.join("/");
    let slice = open.get(key);
    if (slice === undefined || slice.files.length === FILES_AT_A_TIME) {
      slice = { folders, files: [] };
      open.set(key, slice);
      slices.push(slice);
    }
    slice.files.push({ item, name });
  }
  await eachInParallel(slices, ({ folders, files }) =>
    withFolderBelow(
      top,
      folders,
      async (folder) => {
        for (const { item, name } of files) await call(item, folder, name);
      },
      make,
    ),
  );
}

interface Slice<T> {
  readonly folders: readonly string[];
  readonly files: { readonly item: T; readonly name: string }[];
}
