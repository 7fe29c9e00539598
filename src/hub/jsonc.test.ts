import { expect, test } from "vitest";
import { parseJSONC } from "./jsonc.ts";

test.each([
  ['{"a": 1}', { a: 1 }],
  ['\uFEFF{"a": 1}', { a: 1 }],
  ['// first\n{ /* one */ "a": 1, // last\n }', { a: 1 }],
  ['{"a": [1, 2,], }', { a: [1, 2] }],
  ["[1 /* one */ , /* none */ ]", [1]],
  [
    '{"a": "// no comment", "b": "/* nor */", "c": "x,]", "d": "\\",}"}',
    { a: "// no comment", b: "/* nor */", c: "x,]", d: '",}' },
  ],
  ['{"url": "https://example.com/a", /* end', undefined],
  ['{"a": "open\n"}', undefined],
  ["{'a': 1}", undefined],
  ["[,]", undefined],
])("parses %j", (text, expected) => {
  const read = () => parseJSONC(text);

  if (expected === undefined) expect(read).toThrow("not valid JSON");
  else expect(read()).toEqual(expected);
});

test("an error contains the position and no part of the document", () => {
  const text = '{\n  // the token\n  "token": "s3cr3t" oops\n}';

  expect(() => parseJSONC(text)).toThrow(
    expect.objectContaining({ message: "not valid JSON at line 3, column 21", line: 3, column: 21 }),
  );
});
