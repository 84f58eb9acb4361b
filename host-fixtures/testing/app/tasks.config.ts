// A tiny application for tests of the command line and of the MCP server. It needs nothing outside of its process. With APP_TRACE it
// prints what happens to it, where applications print: on standard output.
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AppPlugin,
  defineManage,
  defineOperation,
  type Manage,
  OperationError,
  type OperationsByName,
  selectManageOperations,
} from "lenso-jobs-plugin/host-fixtures";
import * as v from "valibot";

const event = (line: string): void => {
  if (process.env["APP_TRACE"]) console.log(`event: ${line}`);
};

event("import");

const store: AppPlugin<Map<string, string>> = {
  id: "notes/store",
  requires: [],
  setup(context) {
    event("start");
    const failure = process.env["APP_START_FAILURE"];
    if (failure) throw new Error(failure);
    context.onCleanup(() => event("stop"));
    return new Map([["first", "hello"]]);
  },
};

interface Note {
  readonly id: string;
  readonly text: string;
}

interface Notes {
  read(note: Pick<Note, "id">): string | null;
  write(note: Note): { readonly id: string; readonly length: number };
  remove(note: Pick<Note, "id">): void;
  break(): Promise<never>;
  wait(input: object, context: { readonly signal: AbortSignal }): Promise<null>;
  cancel(): void;
}

const notes: AppPlugin<Notes> = {
  id: "notes",
  requires: [store],
  setup(context) {
    const all = context.get(store);
    return {
      read: ({ id }) => all.get(id) ?? null,
      write({ id, text }) {
        all.set(id, text);
        return { id, length: text.length };
      },
      remove({ id }) {
        if (!all.delete(id)) throw new OperationError("note-missing", "there is no note of this id");
      },
      break: () => Promise.reject(new Error(process.env["APP_BREAK"] ?? "broken")),
      async wait(_input, { signal }) {
        event("wait");
        try {
          await sleep(60_000, undefined, { signal });
        } finally {
          event(signal.aborted ? "wait aborted" : "wait ended");
        }
        return null;
      },
      cancel: () => event("cancel called"),
    };
  },
};

const id = v.pipe(v.string(), v.minLength(1), v.maxLength(20));
const reading = { effect: "read", destructive: false, retry: "safe", cancellation: "ignored" } as const;
const writing = { ...reading, effect: "write", retry: "look-first" } as const;

const read = defineOperation({
  plugin: notes,
  method: "read",
  input: v.strictObject({ id }),
  description: "The text of a note, or null.",
  ...reading,
});
const write = defineOperation({
  plugin: notes,
  method: "write",
  input: v.strictObject({ id, text: v.string() }),
  description: "Writes a note over the one of the same id.",
  ...writing,
  destructive: true,
  retry: "safe",
});
const remove = defineOperation({
  plugin: notes,
  method: "remove",
  input: v.strictObject({ id }),
  description: "Removes a note.",
  ...writing,
  destructive: true,
  confirmation: "Remove the note for good?",
});
const fail = defineOperation({
  plugin: notes,
  method: "break",
  input: v.strictObject({}),
  description: "Fails.",
  ...writing,
});
const wait = defineOperation({
  plugin: notes,
  method: "wait",
  input: v.strictObject({}),
  description: "Waits for a minute, unless it is cancelled.",
  ...writing,
  cancellation: "cooperative",
});
const cancel = defineOperation({
  plugin: notes,
  method: "cancel",
  input: v.strictObject({}),
  description: "Tells that it was called.",
  ...writing,
});

export const plugins: readonly AppPlugin[] = [store, notes];
export const operations: Readonly<Record<string, OperationsByName>> = {
  notes: { read, write, remove, fail, wait, cancel },
};
export const manage: Manage = defineManage({
  plugin: notes,
  operations: { read, write, remove, fail, wait, cancel },
});
export const mcpOperations: OperationsByName = selectManageOperations(manage, [
  "read",
  "write",
  "remove",
  "fail",
  "wait",
]);
