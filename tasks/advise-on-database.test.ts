import { expect, test } from "bun:test";
import { adviseOnDatabase, placeOf } from "./advise-on-database.ts";

const password = ["CANARY", "password"].join("-");
const hints = { place: "db.internal:6432/app", grants: "run the migration with runtimeRole" };

test("a place is host, port and database, never user or password", () => {
  expect(placeOf(`postgres://user:${password}@db.internal:6432/app?sslmode=require`)).toBe(hints.place);
  expect(placeOf(`postgres://user:${password}@localhost/app`)).toBe("localhost:5432/app");
  for (const other of [undefined, "nowhere", "postgres:///app"]) expect(placeOf(other)).toBeUndefined();
});

test.each([
  ["ECONNREFUSED", "the database db.internal:6432/app cannot be reached (ECONNREFUSED): check host and port"],
  ["CONNECTION_REFUSED", "cannot be reached (CONNECTION_REFUSED)"],
  ["28P01", "refused the user or the password (28P01)"],
  ["3D000", "the database db.internal:6432/app does not exist (3D000)"],
  ["42501", "the role lacks a right (42501): run the migration with runtimeRole"],
])("%s comes with what to do, and without the server's words", (code, said) => {
  const advice = adviseOnDatabase(Object.assign(new Error(password), { code }), hints);
  expect(advice).toContain(said);
  expect(advice).not.toContain(password);
});

test.each(["57P01", "not a code", 1, undefined])("about an error of code %p nothing is said", (code) => {
  expect(adviseOnDatabase(Object.assign(new Error(password), { code }), hints)).toBeUndefined();
  expect(adviseOnDatabase(undefined, hints)).toBeUndefined();
});
