import { expect, test } from "bun:test";
import { readAll, repositoryFiles } from "./support/repository-files.ts";

const texts = await readAll(repositoryFiles().filter((path) => !/\.(png|jpg|gif|ico|woff2?)$/.test(path)));

test("no file names a package registry's host", () => {
  // A mirror's host in the lockfile would be the one of whoever ran the last install.
  expect(linesWith(/\bregistry\.[a-z0-9-]+\.[a-z]{2,}|\bnpm\.pkg\.[a-z]+|\/artifactory\//i)).toEqual([]);
  expect([...(texts.get("bun.lock") ?? "missing").matchAll(/https?:\/\/[^"\s]+/g)].map(String)).toEqual([]);
});

test("no file holds a path of somebody's machine", () => {
  expect(linesWith(/(?<![\w.})-])\/(root|home|Users|work)\/|\b[A-Z]:\\Users\\/)).toEqual([]);
});

function linesWith(pattern: RegExp): string[] {
  return [...texts].flatMap(([path, text]) =>
    text
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}
