// #region json-schema
import { createRegistry, defineOperation } from "@alkdev/operations";

const greet = defineOperation({
  namespace: "text",
  name: "greet",
  type: "query",
  description: "Returns a greeting",
  inputSchema: { type: "object", properties: { name: { type: "string", maxLength: 40 } }, required: ["name"] },
  outputSchema: { type: "string" },
  handler: ({ name }) => `Hello, ${name.toUpperCase()}!`,
});

const registry = createRegistry({ operations: [greet] });
console.log((await registry.execute("text.greet", { name: "Ada" })).data);

// #endregion json-schema

// #region from-schema
import { collectErrors, FromSchema, formatValueErrors } from "@alkdev/operations";

const foreign = JSON.parse(`{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "properties": {
    "name": { "type": "string", "description": "As on the door" },
    "parts": { "type": "array", "items": { "$ref": "#" } }
  },
  "required": ["name"]
}`);

const Part = FromSchema(foreign);
const errors = collectErrors(Part, { name: "car", parts: [{ name: "engine" }, { name: 7, parts: {} }] });
console.log(formatValueErrors(errors, "- "));
console.log(JSON.stringify(Part) === JSON.stringify(foreign));
// #endregion from-schema

// #region broken
const broken = { type: "object", properties: { age: { type: "integer", minimum: "zero" } } };
try {
  FromSchema(broken);
} catch (error) {
  console.log(String(error));
}
// #endregion broken

// #region patterns
const slow = FromSchema({ type: "string", pattern: "^(a+)+$" });
console.log(collectErrors(slow, `${"a".repeat(50_000)}!`)[0]?.message);

const lookahead = FromSchema({ type: "string", pattern: "^(?!admin$)[a-z]+$" });
console.log(collectErrors(lookahead, "admin")[0]?.message);

const backReference = FromSchema(
  { type: "string", pattern: "^(a|b)\\1$" },
  { onReport: ({ pointer, reason }) => console.log(pointer, reason) },
);
console.log(collectErrors(backReference, "ab"));

// #endregion patterns

// #region validate
import { Type, validateOrThrow } from "@alkdev/operations";

const Settings = Type.Object({ port: Type.Integer({ maximum: 65_535 }), host: Type.String({ format: "hostname" }) });
try {
  validateOrThrow(Settings, { port: 70_000, host: "not a host" }, "settings");
} catch (error) {
  console.log((error as Error).message);
}

// #endregion validate

import assert from "node:assert/strict";

assert.equal(errors.length, 2);
assert.throws(() => FromSchema(broken), { pointer: "/properties/age/minimum" });
assert.throws(() => validateOrThrow(Settings, { port: 1 }), { code: "VALIDATION_ERROR" });
assert.equal(collectErrors(lookahead, "admin").length, 1);
assert.deepEqual(collectErrors(backReference, "ab"), []);
