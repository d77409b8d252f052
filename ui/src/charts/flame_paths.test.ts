import { expect, test } from "vitest";
import { indented } from "../../test/flame.ts";
import type { FlameRows } from "../data/source.ts";
import { pathsOf } from "./flame_paths.ts";

/** Rows out of indented `kind:name`. */
function rowsOf(...lines: string[]): FlameRows {
  return indented(lines, (line) => {
    const [kind, name] = line.split(":");
    return { kind, name };
  });
}

const ONE = rowsOf(":all", "  java:lock", "    java:run", "  java:park", "    java:run", "      java:run");

test("frames of other paths differ, however they are called", () => {
  expect(new Set(pathsOf(ONE)).size).toBe(6);
  const alike = rowsOf(":all", "  java:run", "  native:run", "    java:ab", "    java:a", "      java:b");
  expect(new Set(pathsOf(alike)).size).toBe(6);
});

test("the same path is the same in another graph, at another row", () => {
  const other = rowsOf(":all", "  java:gc", "  java:park", "    java:walk", "    java:run", "  java:lock");
  const [one, two] = [pathsOf(ONE), pathsOf(other)];
  expect([two[0], two[2], two[4], two[5]]).toEqual([one[0], one[3], one[4], one[1]]);
  expect([...one]).not.toContain(two[1]);
});

test("a path is a whole number that an address holds", () => {
  for (const path of pathsOf(ONE)) expect(Number.parseInt(path.toString(16), 16)).toBe(path);
  expect(pathsOf(ONE).every((path) => Number.isSafeInteger(path) && path >= 0)).toBe(true);
});
