import { type TSchema, Type } from "typebox";
import { isObject, type JSONObject } from "../../internal/objects.ts";
import {
  assertValidSpec,
  formatOperationId,
  type IOperationDefinition,
  type Limits,
  type OperationHandler,
  type OperationSpec,
  OperationType,
} from "../../operation/inside.ts";
import { FromSchema } from "../../schema/index.ts";
import { createToolHandler, createTrustedHandler } from "./call-tool.ts";
import type { MCPClientConfig } from "./config.ts";
import type { MCPConnection, MCPServerState, MCPTool } from "./connection/index.ts";
import { readPublishedSpec } from "./trusted-server.ts";

/** An operation that runs on an MCP server. */
export type MCPOperation = OperationSpec &
  Pick<IOperationDefinition, "fillDefaults" | "nextPage"> & {
    /** Calls the tool. */
    handler: OperationHandler;
  };

/** The objects that all operations of one server share. */
export interface ToolHost {
  readonly namespace: string;
  readonly connection: MCPConnection;
  readonly config: MCPClientConfig;
  /** Reads the list again and returns whether the server still has the tool. */
  hasTool(name: string): Promise<boolean>;
}

/**
 * Converts a tool into an operation. Throws if its name or input schema cannot be used. `warn` receives problems that
 * do not prevent the import: an output schema that cannot be used, or an input schema without a type.
 */
export function toToolOperation(tool: MCPTool, host: ToolHost, warn: (reason: string) => void): MCPOperation {
  const { config, connection, namespace } = host;
  const published = config.trust === "operations" ? readPublishedSpec(tool) : undefined;
  if (published !== undefined) return restoreOperation(published, tool, host);
  const name = tool["name"] as string;
  const annotations = isObject(tool["annotations"]) ? tool["annotations"] : {};
  const trusted = config.trustAnnotations === true ? annotations : {};
  const title = asString(tool["title"]) ?? asString(annotations["title"]);
  const output = readOutput(tool["outputSchema"], host, warn);
  const operation: MCPOperation = {
    namespace,
    name,
    version: versionOf(connection.state),
    type: trusted["readOnlyHint"] === true ? OperationType.QUERY : OperationType.MUTATION,
    ...(title !== undefined && { title }),
    description: asString(tool["description"]) ?? title ?? `The tool ${name} of the MCP server ${connection.name}.`,
    inputSchema: readInput(tool["inputSchema"], config, warn),
    outputSchema: output.schema ?? Type.Unknown(),
    // Not `??`: a rule that is `null` by mistake is refused, and must not let every caller in.
    accessControl: config.accessControl === undefined ? { requiredScopes: [] } : config.accessControl,
    ...(trusted["idempotentHint"] === true && { idempotent: true }),
    ...(config.outputPolicy !== undefined && { outputPolicy: config.outputPolicy }),
    _meta: { mcp: toMeta(tool, connection) },
    fillDefaults: false,
    handler: createToolHandler(tool, host, { outputSchema: output.schema, isWrapped: output.isWrapped }),
  };
  assertValidSpec(operation);
  return operation;
}

/** Restores an operation of a trusted server from the spec that it publishes with the tool. */
function restoreOperation(published: JSONObject, tool: MCPTool, host: ToolHost): MCPOperation {
  const { accessControl = { requiredScopes: [] }, outputPolicy } = host.config;
  const isSubscription = published["type"] === OperationType.SUBSCRIPTION;
  const spec = {
    ...published,
    ...(isSubscription && { type: OperationType.QUERY, outputSchema: tool["outputSchema"] }),
    accessControl,
    ...(outputPolicy !== undefined && { outputPolicy }),
    _meta: { mcp: toMeta(tool, host.connection) },
  };
  assertValidSpec(spec);
  const operationId = formatOperationId(spec.namespace, spec.name);
  return { ...spec, fillDefaults: false, handler: createTrustedHandler(tool, host, operationId, spec.inputSchema) };
}

/** Returns the version that a server reports. */
export function versionOf({ server }: MCPServerState): string {
  return asString(server?.version) || "0.0.0";
}

/** Returns the limits of schemas, without those of the connection. */
function schemaLimits({ limits }: MCPClientConfig): Limits {
  const { lineBytes: _line, pages: _pages, ...others } = limits ?? {};
  return others;
}

function readInput(schema: unknown, config: MCPClientConfig, warn: (reason: string) => void): TSchema {
  if (!isObject(schema)) throw new Error("It has no input schema.");
  const { type } = schema;
  const limits = schemaLimits(config);
  if (type !== undefined && type !== "object") throw new Error("Its input is not an object.");
  if (type !== undefined) return FromSchema(schema, { limits });
  // Arguments are always an object, even if the schema does not declare a type.
  warn('Its input schema has no type, which MCP requires. The type "object" was added.');
  return FromSchema({ type: "object", ...schema }, { limits });
}

interface Output {
  /** Absent if the tool does not declare a schema, or declares one that cannot be used. */
  schema?: TSchema;
  isWrapped: boolean;
}

function readOutput(schema: unknown, { config, connection }: ToolHost, warn: (reason: string) => void): Output {
  if (schema === undefined) return { isWrapped: false };
  const mayBeWrapped = config.unwrapResults !== false && connection.state.protocol?.era === "legacy";
  try {
    const inner = mayBeWrapped ? unwrapSchema(schema) : undefined;
    return { schema: FromSchema(inner ?? schema, { limits: schemaLimits(config) }), isWrapped: inner !== undefined };
  } catch (error) {
    warn(`Its output schema cannot be used, so its output is unknown. ${(error as Error).message}`);
    return { isWrapped: false };
  }
}

/** Returns the properties of the tool that are not part of the spec. */
function toMeta(tool: MCPTool, { name, state }: MCPConnection): JSONObject {
  const { title, annotations, icons, execution, _meta } = tool;
  const server = omitUndefined({ name, info: state.server, protocol: state.protocol?.version });
  return omitUndefined({ server, tool: tool["name"], title, annotations, icons, execution, _meta });
}

function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function omitUndefined(object: JSONObject): JSONObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

/** Keywords of a wrapper schema, which servers add because older clients support only objects. */
const wrapperKeywords = new Set(["$schema", "type", "properties", "required"]);
/** Marks schemas that FastMCP wrapped. These also have a title and definitions. */
const fastMCPMark = "x-fastmcp-wrap-result";

/**
 * Returns the schema inside `{ result }` if a server wrapped it for clients that support only objects, and `undefined`
 * for any other schema. Servers never wrap objects, so an object inside `{ result }` is the author's own schema.
 */
export function unwrapSchema(schema: unknown): JSONObject | undefined {
  if (!isObject(schema) || schema["type"] !== "object") return undefined;
  const { properties, required } = schema;
  if (!isObject(properties) || !isOnly(Object.keys(properties), "result") || !isOnly(required, "result")) {
    return undefined;
  }
  const isWrapper = schema[fastMCPMark] === true || Object.keys(schema).every((key) => wrapperKeywords.has(key));
  const inner = properties["result"];
  if (!isWrapper || !isObject(inner) || inner["type"] === "object") return undefined;
  const dialect = Object.hasOwn(schema, "$schema") ? { $schema: schema["$schema"] } : {};
  if (!/"\$(?:ref|dynamicRef|recursiveRef)":/.test(JSON.stringify(inner))) return { ...dialect, ...inner };
  // References of the inner schema start at the wrapper, so the wrapper becomes an embedded document with its own id.
  const $id = "urn:mcp:wrapped-output";
  return { ...dialect, $ref: `${$id}#/properties/result`, $defs: { wrapped: { ...schema, $id } } };
}

function isOnly(list: unknown, item: string): boolean {
  return Array.isArray(list) && list.length === 1 && list[0] === item;
}
