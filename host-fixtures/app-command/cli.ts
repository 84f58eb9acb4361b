#!/usr/bin/env bun
import { runAppCommand } from "./command-line.ts";
import { takeStdout } from "./take-stdout.ts";
import { untilSignal } from "./until-signal.ts";

const write = takeStdout();
const { signal, forget } = untilSignal();
let written = Promise.resolve();

process.exitCode = await runAppCommand(process.argv.slice(2), {
  stdin: () => Bun.stdin.stream(),
  out: (text) => {
    written = write(text);
  },
  err: (text) => process.stderr.write(text),
  environment: process.env,
  signal,
});
await written.catch(() => undefined); // whoever has stopped reading wants no more
forget();
