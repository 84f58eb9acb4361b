import { expect, test } from "bun:test";
import { SQL } from "bun";
import { migrateJobsTaskQueue } from "../tasks/jobs/index.ts";
import { createPostgresTaskProvider, migratePostgresTaskQueue } from "../tasks/postgres/index.ts";
import { codeBlocks } from "./support/code-blocks.ts";
import { root } from "./support/repository-files.ts";
import { testDatabase } from "./support/test-database.ts";

test("every statement about tasks in the docs runs, and shows a job that is due", async () => {
  const { url } = await testDatabase();
  await migrateJobsTaskQueue({ connectionString: url });
  await migratePostgresTaskQueue({ connectionString: url, queueName: "reports" });
  const provider = createPostgresTaskProvider({ connectionString: url, queueName: "reports" });
  const jobId = await provider.enqueue({ task: "report.render", input: null, maxAttempts: 1 });
  await provider.close();

  const page = await Bun.file(`${root}/docs/tasks/observe.md`).text();
  const statements = codeBlocks(page, "sql").flatMap(({ code }) =>
    code.split(";\n").filter((text) => text.trim() !== ""),
  );
  expect(statements.length).toBeGreaterThan(5);
  await using sql = new SQL(url, { max: 1 });
  const answers: unknown[][] = [];
  for (const statement of statements)
    answers.push([...(await sql.unsafe(statement.replace("'…'", `'${jobId}'`)))]);
  expect(answers[0]).toMatchObject([{ queue: "reports", task: "report.render", waiting: "1", due: "1" }]);
  expect(answers[2]).toMatchObject([{ state: "created" }]);
});
