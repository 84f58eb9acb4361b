import { expect, test } from "bun:test";
import { databaseFailure } from "../database-failure.ts";
import { DatabaseError } from "./database-error.ts";

test("the system's word for a broken link is no refusal of the server's, though it has five characters", () => {
  for (const code of ["EPIPE", "EBADF", "ECONNRESET", "CONNECTION_CLOSED"])
    expect(databaseFailure(new DatabaseError(code, ""))).toEqual({
      kind: "unavailable",
      detail: `the database cannot be reached (${code})`,
    });
});

test("what the server refused for no reason that is known is the plugin's failure, and one element may be the cause", () => {
  for (const code of ["P0001", "E0001", "XY123"])
    expect(databaseFailure(new DatabaseError(code, ""))).toEqual({
      kind: "plugin_failure",
      detail: `the database refused a statement (SQLSTATE ${code})`,
      split: true,
    });
});
