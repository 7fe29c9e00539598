import { expect, test } from "vitest";
import { readRegion } from "./regions.ts";

const file = `import { a } from "a"; // head
// #region call
  // #region inner
  a();
  // #endregion inner

    b();
// #endregion call
other();
// #region call
c();
// #endregion call
`;

test("a region has no markers and no common indentation, and an empty line joins its pieces", () => {
  expect(readRegion(file, "call")).toBe("a();\n\n  b();\n\nc();");
  expect(readRegion(file, "inner")).toBe("a();");
});

test("without a name, the whole file is returned without markers", () => {
  expect(readRegion("// #region a\nx();\n// #endregion a\n", undefined)).toBe("x();");
});

test.each([
  ["nothing();", 'there is no region "a"'],
  ["// #region a\nx();", 'region "a" has no end'],
  ["// #endregion a", 'region "a" ends before it begins'],
  ["// #region a\n// #region a\n// #endregion a", 'region "a" is opened twice without an end'],
])("a region that cannot be read is an error: %j", (text, message) => {
  expect(() => readRegion(text, "a")).toThrow(message);
});
