import { Type } from "typebox";
import { getOwn, type JSONObject } from "../../internal/objects.ts";
import { OperationType } from "../../operation/inside.ts";
import { type SchemaObject, validateOrThrow } from "../../schema/index.ts";
import { describesObject, mcpMetaKey } from "../../transport/mcp-form.ts";
import { type AdaptSchema, toPublicSchema } from "../public-schema.ts";
import { toToolName } from "../tool-name.ts";
import type { ServedOperation } from "../visible.ts";
import { adaptInput, adaptOutput, mayBeUndefined } from "./client-schema.ts";

/** Generation of the protocol: `modern` is 2026-07-28, `legacy` covers the versions before it. */
export type ProtocolEra = "legacy" | "modern";

/** A tool as `tools/list` returns it. */
export interface ToolDescription {
  name: string;
  title?: string;
  description: string;
  inputSchema: SchemaObject;
  outputSchema?: SchemaObject;
  annotations: { title?: string; readOnlyHint: boolean; idempotentHint?: boolean };
  _meta?: JSONObject;
}

/** A schema of a tool. */
interface PlacedSchema {
  schema: SchemaObject;
  /** A reference to a part of the tool if that is the schema of the operation, and otherwise that schema itself. */
  original: unknown;
}

/** The arguments of a tool whose input is not an object. The operation validates the input. */
const wrappedArguments = Type.Object({ input: Type.Optional(Type.Unknown()) }, { additionalProperties: false });

/** What was derived from an operation. */
interface KnownTool {
  /** Whether the arguments are `{ input }`, because the input is not an object and MCP accepts only objects. */
  readonly isInputWrapped: boolean;
  readonly descriptions: Partial<Record<ProtocolEra, ToolDescription>>;
}

/** An operation that did not change keeps its descriptions. */
const tools = new WeakMap<ServedOperation, KnownTool>();

function toolOf(operation: ServedOperation): KnownTool {
  const known = tools.get(operation);
  if (known !== undefined) return known;
  const tool = { isInputWrapped: !describesObject(operation.published.inputSchema), descriptions: {} };
  tools.set(operation, tool);
  return tool;
}

/** Returns whether structured content is `{ result }`: clients of older versions accept only objects. */
export function isOutputWrapped(operation: ServedOperation, era: ProtocolEra): boolean {
  if (era === "modern" || describesObject(operation.published.outputSchema)) return false;
  return describeTool(operation, era).outputSchema !== undefined;
}

/** Returns whether the arguments are `{ input }`. */
export function isInputWrapped(operation: ServedOperation): boolean {
  return toolOf(operation).isInputWrapped;
}

/** Converts the arguments of a tool into the input of its operation. Throws `VALIDATION_ERROR`. */
export function toInput(operation: ServedOperation, given: JSONObject): unknown {
  if (!toolOf(operation).isInputWrapped) return given;
  validateOrThrow(wrappedArguments, given, `arguments of "${toToolName(operation.id)}"`);
  return given["input"];
}

/** Returns an operation as a tool for clients of a generation of the protocol. */
export function describeTool(operation: ServedOperation, era: ProtocolEra): ToolDescription {
  const { descriptions } = toolOf(operation);
  descriptions[era] ??= createDescription(operation, era);
  return descriptions[era];
}

function createDescription(operation: ServedOperation, era: ProtocolEra): ToolDescription {
  const { id, published, isSubscription } = operation;
  // Access rules and `_meta` are never published.
  const { accessControl: _, _meta, title, description, ...spec } = published;
  const input = placeInput(operation);
  const output = placeOutput(operation, era);
  const text = description || title || `The operation ${id}.`;
  const shown = isSubscription ? `${text}\n\nReturns the values of the first seconds.` : text;
  const titled = title === undefined ? {} : { title };
  const isMutation = spec.type === OperationType.MUTATION;
  const hints = { readOnlyHint: !isMutation, ...(isMutation && { idempotentHint: spec.idempotent === true }) };
  const restored = {
    ...spec,
    ...(shown !== description && { description }),
    inputSchema: input.original,
    outputSchema: output === undefined ? spec.outputSchema : output.original,
  };
  return {
    name: toToolName(id),
    ...titled,
    description: shown,
    inputSchema: input.schema,
    ...(output !== undefined && { outputSchema: output.schema }),
    annotations: { ...titled, ...hints },
    _meta: { [mcpMetaKey]: { operation: restored } },
  };
}

function placeInput(operation: ServedOperation): PlacedSchema {
  const { inputSchema } = operation.published;
  if (!toolOf(operation).isInputWrapped) return place(inputSchema, "/inputSchema", adaptInput, asObject);
  const isFilled = operation.fillsDefaults && getOwn(inputSchema, "default") !== undefined;
  const required = isFilled || mayBeUndefined(inputSchema) ? [] : ["input"];
  return place(inputSchema, "/inputSchema/properties/input", adaptInput, (input) => {
    return { ...toWrapper({ input }, required), additionalProperties: false };
  });
}

function placeOutput(operation: ServedOperation, era: ProtocolEra): PlacedSchema | undefined {
  const { outputSchema } = operation.published;
  if (operation.isSubscription)
    return place(outputSchema, "/outputSchema/properties/values/items", adaptOutput, toValues);
  // Clients refuse results without structured content.
  const mayBeEmpty = getOwn(getOwn(operation.spec._meta, "openapi"), "mayBeEmpty") === true;
  if (mayBeEmpty || mayBeUndefined(outputSchema)) return undefined;
  if (describesObject(outputSchema)) return place(outputSchema, "/outputSchema", adaptOutput, asObject);
  if (era === "modern") return place(outputSchema, "/outputSchema", adaptOutput);
  const wrap = (result: SchemaObject) => toWrapper({ result }, ["result"]);
  return place(outputSchema, "/outputSchema/properties/result", adaptOutput, wrap);
}

/**
 * Publishes a schema in a tool.
 * @param location - JSON pointer to the schema in the tool
 * @param wrap - returns the schema of the tool, which contains the schema
 */
function place(
  original: unknown,
  location: string,
  adapt: AdaptSchema,
  wrap = (inner: SchemaObject) => inner,
): PlacedSchema {
  const inner = toPublicSchema(original, location.replace(/^\/\w+/, ""), adapt);
  const isSame = JSON.stringify(inner) === JSON.stringify(original);
  return { schema: wrap(inner), original: isSame ? { $ref: `#${location}` } : original };
}

/** Clients refuse a tool without this type. A malformed schema has lost it. */
function asObject(schema: SchemaObject): SchemaObject {
  return { ...schema, type: "object" };
}

function toWrapper(properties: JSONObject, required: readonly string[]): SchemaObject {
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

/** Returns the schema of the values of a subscription. */
function toValues(items: SchemaObject): SchemaObject {
  const description = "Whether the subscription has ended, so that there are no more values";
  const properties = { values: { type: "array", items }, complete: { type: "boolean", description } };
  return toWrapper(properties, ["values", "complete"]);
}
