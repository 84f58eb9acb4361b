#!/usr/bin/env bun
import { takeStdout } from "../app-command/take-stdout.ts";
import { untilSignal } from "../app-command/until-signal.ts";
import { runJobCommand } from "./command-line.ts";

const write = takeStdout();
const { signal, forget } = untilSignal();
let written = Promise.resolve();

process.exitCode = await runJobCommand(process.argv.slice(2), {
  stdin: () => Bun.stdin.stream(),
  out: (text) => {
    written = write(text);
  },
  err: (text) => process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  environment: process.env,
  signal,
});
await written.catch(() => undefined); // whoever has stopped reading wants no more
forget();
