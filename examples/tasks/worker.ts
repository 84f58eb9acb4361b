// The worker: bun run worker. It needs no session: whose reports these are was settled when they were submitted.
import { startApp } from "lenso-jobs-plugin/host-fixtures";
import { pino } from "pino";
import { createProgressDisplay } from "./src/progress-display.ts";
import { createReportPlugins } from "./src/report-plugins.ts";

const display = createProgressDisplay(process.stderr);
const logger = pino({}, { write: (line: string) => display.interrupt(() => process.stdout.write(line)) });
const { database, reports, tasks } = createReportPlugins({
  logger,
  pauseMs: Number(process.env["REPORT_PAUSE_MS"] ?? 0),
  onProgress: (progress) => display.show(progress),
  onEnd: (reportId) => display.end(reportId),
});

const app = await startApp({ plugins: [database, reports, tasks] });
const worker = app.get(tasks).startWorker({ concurrency: 2, timeoutMs: 600_000 });
logger.info("working; SIGTERM or Ctrl-C drains");

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    logger.info({ signal }, "draining: no new reports, and half a minute for those under way");
    void app.stop();
  });
}

try {
  await worker.done;
} catch (err) {
  logger.fatal({ err }, "the queue cannot be worked on");
  process.exitCode = 1; // whoever keeps this process running starts it again
} finally {
  await app.stop();
  logger.info("stopped");
}
