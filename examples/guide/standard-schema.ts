// #region define
import { createRegistry, defineNamespace, defineOperation } from "@alkdev/operations";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";

const define = defineNamespace("text");

const withZod = define({
  name: "repeat",
  type: "query",
  description: "Repeats a string",
  inputSchema: z.object({ text: z.string(), times: z.number().int().default(2) }),
  outputSchema: z.string(),
  handler: ({ text, times }) => text.repeat(times),
});

const withValibot = define({
  name: "shout",
  type: "query",
  description: "Converts a string to upper case",
  inputSchema: toStandardJsonSchema(v.object({ text: v.pipe(v.string(), v.minLength(1)) })),
  outputSchema: toStandardJsonSchema(v.string()),
  handler: ({ text }) => text.toUpperCase(),
});

const withArkType = define({
  name: "count",
  type: "query",
  description: "Counts characters",
  inputSchema: type({ text: "string" }),
  outputSchema: type({ length: "number.integer" }),
  handler: ({ text }) => ({ length: text.length }),
});

const client = createRegistry({ operations: [withZod, withValibot, withArkType] }).client();
console.log(await client.text.repeat({ text: "ho " }));
console.log(await client.text.shout({ text: "hello" }));
console.log(await client.text.count({ text: "hello" }));
// #endregion define

// #region refine
const Even = z.number().refine((value) => value % 2 === 0, "must be even");

const half = defineOperation({
  namespace: "math",
  name: "half",
  type: "query",
  description: "Halves an even number",
  inputSchema: z.object({ number: Even }),
  outputSchema: z.number(),
  handler: ({ number }) => number / 2,
});

const registry = createRegistry({ operations: [half] });
const refused = await registry.execute("math.half", { number: 3 }).catch((error) => error);
console.log(refused.message);
console.log(JSON.stringify(registry.getSpec("math.half")?.inputSchema));
// #endregion refine

// #region refused
try {
  createRegistry({ operations: [{ ...half, inputSchema: v.object({ number: v.number() }) }] });
} catch (error) {
  console.log(String(error));
}

// #endregion refused

import assert from "node:assert/strict";

assert.equal(await client.text.repeat({ text: "ho " }), "ho ho ");
assert.deepEqual(await client.text.count({ text: "hello" }), { length: 5 });
assert.deepEqual(refused.details.errors, [{ path: "/number", message: "must be even" }]);
