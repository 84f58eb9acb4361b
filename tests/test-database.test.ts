import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { testDatabase } from "./support/test-database.ts";

const open: SQL[] = [];
afterAll(async () => {
  await Promise.all(open.map((sql) => sql.close()));
});

test("many callers at once get their own copies of a template that is prepared once", async () => {
  const prepared: string[] = [];
  const template = `trial_${Date.now()}`;
  const prepare = async (url: string) => {
    prepared.push(url);
    await using sql = new SQL(url, { max: 1 });
    await sql`CREATE TABLE note (body text)`;
  };

  const databases = await Promise.all(Array.from({ length: 4 }, () => testDatabase({ template, prepare })));

  expect(prepared).toHaveLength(1);
  expect(new Set(databases.map((each) => each.name)).size).toBe(4);
  const [first, second] = databases.map((each) => new SQL(each.url, { max: 1 })) as [SQL, SQL];
  open.push(first, second);
  await first`INSERT INTO note VALUES ('only here')`;
  expect(await second`SELECT count(*)::int AS notes FROM note`).toEqual([{ notes: 0 }]);
});

test("a template whose preparation failed is made anew by the next caller", async () => {
  const template = `broken_${Date.now()}`;
  const failing = testDatabase({ template, prepare: () => Promise.reject(new Error("half way")) });
  await expect(failing).rejects.toThrow("half way");

  const { url } = await testDatabase({ template, prepare: async () => {} });

  expect(url).toContain("/test_");
});
