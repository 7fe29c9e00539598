import fc from "fast-check";
import { expect, test } from "vitest";
import { formatOperationId, namePattern, namespacePattern, parseOperationId } from "./operation-id.ts";

test.each([
  ["task.create", { namespace: "task", name: "create" }],
  ["pets./pets/{id}.json", { namespace: "pets", name: "/pets/{id}.json" }],
  ["a..", { namespace: "a", name: "." }],
  ["__proto__.constructor", { namespace: "__proto__", name: "constructor" }],
  ["task", undefined],
  ["task.", undefined],
  [".create", undefined],
  ["", undefined],
])("%j splits at its first dot", (id, expected) => {
  expect(parseOperationId(id)).toEqual(expected);
});

test("a valid namespace and name are parsed from their id unchanged", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1 });
  fc.assert(
    fc.property(text, text, (namespace, name) => {
      fc.pre(namespacePattern.test(namespace) && namePattern.test(name));

      expect(parseOperationId(formatOperationId(namespace, name))).toEqual({ namespace, name });
    }),
  );
});
