// The demo: bun examples/email/main.ts. README.md in this folder walks through it.
import { openDemo } from "./demo.ts";
import { DemoFailed, title } from "./narrate.ts";
import { enqueueOnce } from "./steps/enqueue-once.ts";
import { failPermanent } from "./steps/fail-permanent.ts";
import { keepApart } from "./steps/keep-apart.ts";
import { refuseStrangers } from "./steps/refuse-strangers.ts";
import { retryTemporary } from "./steps/retry-temporary.ts";
import { showEvidence } from "./steps/show-evidence.ts";
import { surviveAKill } from "./steps/survive-a-kill.ts";

const startedAt = performance.now();
const undo = new AsyncDisposableStack();
let interrupted = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void interrupt(signal));

try {
  const demo = await openDemo(undo);
  await enqueueOnce(demo);
  await refuseStrangers(demo);
  await surviveAKill(demo);
  await retryTemporary(demo);
  await failPermanent(demo);
  await keepApart(demo);
  await showEvidence(demo);
  await undo.disposeAsync();
  title(
    `Done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s. Everything that it started was stopped.`,
  );
} catch (error) {
  await giveUp(error);
}

async function giveUp(error: unknown): Promise<void> {
  if (interrupted) return; // what was stopped under way has failed, as it must
  process.exitCode = 1;
  console.error(error instanceof DemoFailed ? `\nThe demo failed: ${error.message}` : error);
  await undo.disposeAsync();
}

/** Stops everything on Ctrl-C. Whatever is just being started ends with this process. */
async function interrupt(signal: "SIGINT" | "SIGTERM"): Promise<void> {
  interrupted = true;
  console.error(`\n${signal}: stopping`);
  try {
    await undo.disposeAsync();
  } finally {
    process.exit(signal === "SIGINT" ? 130 : 143);
  }
}
