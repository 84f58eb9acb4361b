#!/usr/bin/env bun
import { takeStdout } from "../app-command/take-stdout.ts";
import { untilSignal } from "../app-command/until-signal.ts";
import { runJobCommand } from "./command-line.ts";

const write = takeStdout();
const { signal, forget } = untilSignal();
const unread = new AbortController();
let written = Promise.resolve();
let said = Promise.resolve();

process.exitCode = await runJobCommand(process.argv.slice(2), {
  stdin: () => Bun.stdin.stream(),
  out: (text) => {
    // Whoever has stopped reading wants no more: a watch ends then, as by Ctrl-C.
    written = write(text).catch(() => unread.abort());
  },
  err(text) {
    said = new Promise((resolve) => {
      process.stderr.write(text, () => resolve());
    });
  },
  isTerminal: process.stderr.isTTY,
  environment: process.env,
  signal: AbortSignal.any([signal, unread.signal]),
});
await written;
await said;
forget();
process.exit(); // an attempt that a worker left, or what its provider left running, would keep the process for as long as it likes
