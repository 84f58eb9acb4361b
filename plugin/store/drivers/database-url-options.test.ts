import { describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { faultInUrlOptions } from "./database-url-options.ts";

const thisFile = fileURLToPath(import.meta.url);
const urlWith = (options: string) => `postgres://user:password@127.0.0.1:5432/app${options}`;
const canary = ["CANARY", "option"].join("-");

describe.each(["bun", "pg"] as const)("the options of a database URL, to the driver %s", (driver) => {
  const faultIn = (options: string) => faultInUrlOptions(urlWith(options), driver);

  test.each([
    "",
    "?",
    "?sslmode=disable",
    "?sslmode=prefer",
    "?sslmode=require&connect_timeout=10",
    "?sslmode=verify-ca",
    "?sslmode=verify-full&application_name=mail%20app",
    `?sslrootcert=${thisFile}&sslcert=${thisFile}&sslkey=${thisFile}`,
    "?ssl=true",
    "?ssl=0",
    "?options=-c%20work_mem%3D8MB",
    "?options=",
    "?channel_binding=prefer",
    "?sslnegotiation=postgres",
  ])("are right as in %j", (options) => {
    expect(faultIn(options)).toBeUndefined();
  });

  test.each([
    ["sslmode", "?sslmode="],
    ["sslmode", "?sslmode=REQUIRE"],
    ["sslmode", `?sslmode=${canary}`],
    ["sslmode", "?application_name=x&sslmode=verify-full%00"],
    ["ssl", `?ssl=${canary}`],
    ["sslnegotiation", `?sslnegotiation=${canary}`],
    ["channel_binding", `?channel_binding=${canary}`],
    ["connect_timeout", `?connect_timeout=${canary}`],
    ["connect_timeout", "?connect_timeout=-1"],
    ["sslrootcert", `?sslrootcert=/nowhere/${canary}`],
    ["sslcert", `?sslmode=require&sslcert=/nowhere/${canary}`],
    ["sslkey", "?sslkey="],
    ["application_name", `?application_name=${canary}%00`],
    ["options", `?options=${canary}%00`],
  ])("are wrong with a value of %s as in %j, which is named without the value", (name, options) => {
    const fault = faultIn(options);
    expect(fault).toStartWith(
      `option "${name}" has a value that driver "${driver}" does not take: expected `,
    );
    expect(fault).not.toContain(canary);
  });

  test.each([
    "foo",
    "SSLMODE",
    "search_path",
    "statement_timeout",
    "host",
    "port",
    "user",
    "password",
    "dbname",
    "constructor",
    "__proto__",
  ])("are wrong with %s, which is named and not its value", (name) => {
    const fault = faultIn(`?sslmode=disable&${name}=${canary}`);
    expect(fault).toStartWith(`option "${name}" is none that driver "${driver}" takes: leave it out`);
    expect(fault).toContain("application_name, channel_binding, connect_timeout, options, ssl");
    expect(fault).not.toContain(canary);
  });

  test("are wrong when one stands there twice", () => {
    expect(faultIn("?sslmode=disable&sslmode=require")).toBe('option "sslmode" stands there twice');
  });

  test.each([
    `?sslmode=disable&${canary}@db.internal/app`,
    `?sslmode=disable&x=1&${canary}@db.internal/app`,
    `?sslmode=disable&a.${canary}=1`,
    `?sslmode=disable&${canary}%20=1`,
    "?sslmode=disable&=1",
  ])("are numbered where a name may be a piece of a secret, as in %j", (options) => {
    const fault = faultIn(options);
    expect(fault).toStartWith("option number 2, whose name is not shown, is none that driver");
    expect(fault).not.toContain(canary);
  });
});

test.each([
  ["?sslmode=no-verify", "pg"],
  ["?ssl=no-verify", "pg"],
  ["?sslnegotiation=direct", "pg"],
  ["?uselibpqcompat=true", "pg"],
  ["?sslmode=allow", "bun"],
  ["?ssl=false", "bun"],
  ["?channel_binding=require", "bun"],
  ["?sslrootcert=system", "bun"],
  ["?sslpassword=x", "bun"],
] as const)(
  "%s is right to the driver %s alone, and the other one says which option it is",
  (options, driver) => {
    expect(faultInUrlOptions(urlWith(options), driver)).toBeUndefined();
    const name = options.slice(1, options.indexOf("="));
    const other = driver === "bun" ? "pg" : "bun";
    expect(faultInUrlOptions(urlWith(options), other)).toStartWith(`option "${name}" `);
  },
);

test("a passphrase that was not encoded shows no piece of itself", () => {
  const fault = faultInUrlOptions(urlWith(`?sslpassword=half&${canary}`), "bun");
  expect(fault).toStartWith("option number 2, whose name is not shown");
  expect(fault).not.toContain(canary);
});
