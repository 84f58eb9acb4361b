import { randomBytes } from "node:crypto";
import { setup } from "../../../plugin/operator/index.ts";
import { observer } from "../../postgres/support/observe.ts";
import { afterTestFile } from "../../support/after-test-file.ts";
import { testServer } from "../../support/test-server.ts";

/** A role that logs in through a pooler. */
export interface PooledRole {
  readonly name: string;
  readonly password: string;
  /** The database as this role reaches it without a pooler. */
  readonly url: string;
}

/** A fresh role that may just use the schema of this database. It is dropped after the file. */
export async function pooledRole(databaseUrl: string): Promise<PooledRole> {
  const name = `pooled_${randomBytes(5).toString("hex")}`;
  const password = "ordinary";
  const { url: adminUrl } = await testServer();
  await using admin = observer(adminUrl, 1);
  await admin.unsafe(`create role ${name} login password '${password}'`);
  afterTestFile(async () => {
    await using own = observer(databaseUrl, 1);
    await own.unsafe(`drop owned by ${name}`);
    await own.unsafe(`drop role ${name}`);
  });
  const report = await setup({ databaseUrl, schema: "jobs", runtimeRole: name });
  if (!report.ok) throw new Error(report.message);
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = password;
  return { name, password, url: url.href };
}
