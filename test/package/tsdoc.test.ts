import { expect, test } from "vitest";
import { sourceOf, subpaths } from "../../scripts/subpaths.ts";
import { readDocumentation } from "./tsdoc.ts";

const { undocumented, withExample } = readDocumentation(subpaths.map(({ entry }) => sourceOf(entry)));

/** What a newcomer uses first. */
const firstNames = [
  "defineOperation",
  "defineNamespace",
  "Type",
  "createRegistry",
  "OperationRegistry.execute",
  "OperationRegistry.subscribe",
  "OperationRegistry.client",
  "OperationRegistry.follow",
  "CallError",
  "isDeclaredError",
  "connect",
  "serveCalls",
];

test("every member of every exported type has a TSDoc sentence", () => {
  expect(undocumented).toEqual([]);
});

test("the names that a newcomer uses first have an example", () => {
  expect(firstNames.filter((name) => !withExample.has(name))).toEqual([]);
});
