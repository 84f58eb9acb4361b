import { randomBytes } from "node:crypto";
import { SQL } from "bun";
import { afterTestFile } from "../../../tests/support/after-test-file.ts";
import { testDatabase } from "../../../tests/support/test-database.ts";
import { testServer } from "../../../tests/support/test-server.ts";

export interface OperatorDatabase {
  /** A superuser's URL. */
  readonly url: string;
  /** One statement as the superuser, or as the role of another URL of this database. */
  readonly query: (text: string, url?: string) => Promise<Record<string, unknown>[]>;
  /** A fresh login role that may nothing, dropped after the file. Its name needs quoting. */
  readonly createRole: () => Promise<{
    readonly name: string;
    readonly quoted: string;
    readonly url: string;
  }>;
  /** Drops every schema of ours and of a test's, so that the next test finds the database empty. */
  readonly empty: () => Promise<void>;
  /** Everything that makes a schema what it is, as comparable lines. */
  readonly dump: (schema: string) => Promise<string[]>;
}

/** A fresh and empty database with what the operator's tests look at it through. */
export async function operatorDatabase(): Promise<OperatorDatabase> {
  const server = await testServer();
  const roles: string[] = [];
  // Registered first and so run last: a role can't be dropped while a database has grants to it.
  afterTestFile(() =>
    onceConnected(server.url, async (sql) => {
      for (const role of roles) await sql.unsafe(`drop role if exists ${role}`);
    }),
  );
  const { url } = await testDatabase();
  const query = (text: string, as = url) =>
    onceConnected(as, async (sql) => (await sql.unsafe(text)) as Record<string, unknown>[]);
  return {
    url,
    query,
    async createRole() {
      const name = `Te"st ${randomBytes(5).toString("hex")}`;
      const quoted = `"${name.replaceAll('"', '""')}"`;
      roles.push(quoted);
      await query(`create role ${quoted} login password 'ordinary'`);
      const own = new URL(url);
      own.username = encodeURIComponent(name);
      own.password = "ordinary";
      return { name, quoted, url: own.href };
    },
    async empty() {
      const schemas = await query(
        "select quote_ident(nspname) as name from pg_namespace where nspname !~ '^pg_' and nspname not in ('public', 'information_schema')",
      );
      for (const { name } of schemas) await query(`drop schema ${String(name)} cascade`);
    },
    async dump(schema) {
      const rows = await query(catalogueOf(schema));
      return rows.map((row) => String(row.line));
    },
  };
}

async function onceConnected<T>(url: string, work: (sql: SQL) => Promise<T>): Promise<T> {
  const sql = new SQL(url, { max: 1, prepare: false });
  try {
    return await work(sql);
  } finally {
    await sql.close();
  }
}

function catalogueOf(schema: string): string {
  const objects = `select c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = '${schema}'`;
  return `with object as (${objects})
    select concat_ws('|', 'object', relname, relkind, pg_get_userbyid(relowner), relacl::text, reloptions::text, obj_description(oid, 'pg_class')) as line from object
    union all select concat_ws('|', 'column', o.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attcollation::regcollation, a.attacl::text, pg_get_expr(d.adbin, d.adrelid))
      from object o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 left join pg_attrdef d on d.adrelid = o.oid and d.adnum = a.attnum where o.relkind = 'r'
    union all select concat_ws('|', 'constraint', o.relname, x.conname, pg_get_constraintdef(x.oid)) from object o join pg_constraint x on x.conrelid = o.oid
    union all select concat_ws('|', 'index', pg_get_indexdef(oid)) from object where relkind = 'i'
    union all select concat_ws('|', 'schema', nspacl::text, pg_get_userbyid(nspowner)) from pg_namespace where nspname = '${schema}'
    order by 1`;
}

/** Where another database is found, for a role whose own URL names it. */
export function urlAs(role: { readonly url: string }, databaseUrl: string): URL {
  const url = new URL(databaseUrl);
  ({ username: url.username, password: url.password } = new URL(role.url));
  return url;
}
