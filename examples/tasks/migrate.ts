// Installs or upgrades the queue's tables and the example's own: bun run migrate. Run it before the first start and with every release.
import { SQL } from "bun";
import { migratePostgresTaskQueue } from "lenso-jobs-plugin/tasks/postgres";
import { migrateReports } from "./src/migrate-reports.ts";
import { settings } from "./src/settings.ts";

await migratePostgresTaskQueue({
  connectionString: settings.databaseUrl(),
  queueName: settings.queueName(),
});
const sql = new SQL(settings.databaseUrl(), { max: 1 });
try {
  await migrateReports(sql);
} finally {
  await sql.close();
}
console.log(`The tables of the queue "${settings.queueName()}" and of the reports are up to date.`);
