import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { IOperationDefinition } from "../../operation/inside.ts";
import { coreOf } from "../../registry/inside.ts";
import { operation, registryOf } from "../../registry/testing.ts";
import { mcpMetaKey } from "../../transport/mcp-form.ts";
import { describeTool, type ProtocolEra } from "./tool.ts";

function describeOperation(overrides: Partial<IOperationDefinition>, era: ProtocolEra = "modern") {
  const registry = registryOf(operation(overrides));
  const [entry] = coreOf(registry).operations.values();
  return JSON.parse(JSON.stringify(describeTool(entry!, era)));
}

const specOf = (tool: { _meta: Record<string, { operation: unknown }> }) => tool._meta[mcpMetaKey]!.operation;

describe("the description of a tool", () => {
  test("has the schemas of the operation, and refers to them in the spec", () => {
    const schema = Type.Object({ a: Type.Optional(Type.Number()) });
    const tool = describeOperation({ inputSchema: schema, outputSchema: schema, tags: ["x"], outputPolicy: "strict" });
    expect(tool.inputSchema).toEqual({ type: "object", properties: { a: { type: "number" } } });
    expect(tool.outputSchema).toEqual(tool.inputSchema);
    expect(specOf(tool)).toEqual({
      namespace: "test",
      name: "echo",
      version: "1.0.0",
      type: "query",
      tags: ["x"],
      outputPolicy: "strict",
      inputSchema: { $ref: "#/inputSchema" },
      outputSchema: { $ref: "#/outputSchema" },
    });
  });

  test("never contains the access rule or _meta", () => {
    const accessControl = { requiredScopes: ["secret-scope"] };
    const tool = describeOperation({ accessControl, _meta: { internal: "secret-meta" } });
    expect(JSON.stringify(tool)).not.toMatch(/secret/);
  });

  test("shows the view of callers, who may omit properties with a default", () => {
    const tool = describeOperation({ inputSchema: Type.Object({ a: Type.Number({ default: 1 }), b: Type.Number() }) });
    expect(tool.inputSchema.required).toEqual(["b"]);
    const whole = { inputSchema: Type.Integer({ default: 7 }) };
    expect(describeOperation(whole).inputSchema.required).toBeUndefined();
    expect(describeOperation({ ...whole, fillDefaults: false }).inputSchema.required).toEqual(["input"]);
  });

  test("wraps an input that is not an object, and keeps its references valid", () => {
    const node = Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node");
    const tool = describeOperation({ inputSchema: node });
    expect(tool.inputSchema).toEqual({
      type: "object",
      properties: {
        input: {
          $ref: "#/properties/input/$defs/Node",
          $defs: { Node: { type: "object", properties: { next: { $ref: "#/properties/input/$defs/Node" } } } },
        },
      },
      required: ["input"],
      additionalProperties: false,
    });
    expect(specOf(tool)).toMatchObject({ inputSchema: JSON.parse(JSON.stringify(node)) });
  });

  test("wraps an output that is not an object only for older versions", () => {
    const outputSchema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "array",
      items: { $ref: "#/definitions/a" },
      definitions: { a: {} },
    };
    const definition = { outputSchema: outputSchema as never };
    const { $schema: _, ...inner } = outputSchema;
    expect(describeOperation(definition).outputSchema).toEqual(inner);
    expect(describeOperation(definition, "legacy").outputSchema).toEqual({
      type: "object",
      properties: { result: { ...inner, items: { $ref: "#/properties/result/definitions/a" } } },
      required: ["result"],
    });
  });

  test.each([
    ["is unknown", Type.Unknown()],
    ["may be missing", Type.Union([Type.String(), Type.Undefined()])],
  ])("has no output schema if the output %s", (_reason, outputSchema) => {
    const tool = describeOperation({ outputSchema: outputSchema as never });
    expect(tool).not.toHaveProperty("outputSchema");
    expect(specOf(tool)).toMatchObject({ outputSchema: JSON.parse(JSON.stringify(outputSchema)) });
  });

  test("has the exact output schema in the spec, and one that clients can check", () => {
    const outputSchema = Type.Object({ at: Type.String({ format: "date-time" }), any: Type.Unknown() });
    const tool = describeOperation({ outputSchema });
    expect(tool.outputSchema).toEqual({
      type: "object",
      properties: { at: { type: "string" }, any: {} },
      required: ["at"],
    });
    expect(specOf(tool)).toMatchObject({ outputSchema: JSON.parse(JSON.stringify(outputSchema)) });
  });

  test("does not ask clients for headers that the server does not check", () => {
    const inputSchema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
    expect(describeOperation({ inputSchema: inputSchema as never }).inputSchema.properties).toEqual({
      region: { type: "string" },
    });
  });

  test("has the values of a subscription as its output", () => {
    const handler = async function* () {};
    const tool = describeOperation({ type: "subscription", outputSchema: Type.Array(Type.String()), handler });
    expect(tool.description).toBe("Returns its input.\n\nReturns the values of the first seconds.");
    expect(tool.annotations).toEqual({ readOnlyHint: true });
    expect(tool.outputSchema).toMatchObject({
      properties: { values: { items: { type: "array", items: { type: "string" } } }, complete: { type: "boolean" } },
      required: ["values", "complete"],
    });
  });
});
