import { type TSchema, Type } from "typebox";
import {
  assertValidSpec,
  type IOperationDefinition,
  type OperationHandler,
  type OperationSpec,
  OperationType,
} from "../../operation/index.ts";
import { FromSchema } from "../../schema/index.ts";
import { createToolHandler } from "./call-tool.ts";
import type { MCPClientConfig } from "./config.ts";
import type { MCPConnection, MCPServerState, RawTool } from "./connection/index.ts";
import { defined, isObject, type JSONObject, textOf } from "./values.ts";
import { unwrapSchema } from "./wrapped-schema.ts";

/** An operation that an MCP server runs. */
export type MCPOperation = OperationSpec &
  Pick<IOperationDefinition, "fillDefaults" | "nextPage"> & { handler: OperationHandler };

/** What the operations of one server share. */
export interface ToolHost {
  readonly namespace: string;
  readonly connection: MCPConnection;
  readonly config: MCPClientConfig;
  /** Asks the server whether it still has a tool. */
  hasTool(name: string): Promise<boolean>;
}

/**
 * Makes an operation of a tool. Throws when that cannot be: without a usable name or input schema. An output schema
 * that cannot be read is reported to `warn`, and the output is then unknown; so is an input schema without a type.
 */
export function toToolOperation(tool: RawTool, host: ToolHost, warn: (reason: string) => void): MCPOperation {
  const { config, connection, namespace } = host;
  const name = tool["name"] as string;
  const annotations = isObject(tool["annotations"]) ? tool["annotations"] : {};
  const trusted = config.trustAnnotations === true ? annotations : {};
  const title = textOf(tool["title"]) ?? textOf(annotations["title"]);
  const output = readOutput(tool["outputSchema"], host, warn);
  const operation: MCPOperation = {
    namespace,
    name,
    version: versionOf(connection.state),
    type: trusted["readOnlyHint"] === true ? OperationType.QUERY : OperationType.MUTATION,
    ...(title !== undefined && { title }),
    description: textOf(tool["description"]) ?? title ?? `The tool ${name} of the MCP server ${connection.name}.`,
    inputSchema: readInput(tool["inputSchema"], config, warn),
    outputSchema: output.schema ?? Type.Unknown(),
    accessControl: config.accessControl ?? { requiredScopes: [] },
    ...(trusted["idempotentHint"] === true && { idempotent: true }),
    ...(config.outputPolicy !== undefined && { outputPolicy: config.outputPolicy }),
    _meta: { mcp: toMeta(tool, connection) },
    fillDefaults: false,
    handler: createToolHandler(tool, host, { outputSchema: output.schema, isWrapped: output.isWrapped }),
  };
  assertValidSpec(operation);
  return operation;
}

/** The version that a server says it has. */
export function versionOf({ server }: MCPServerState): string {
  return textOf(server?.version) || "0.0.0";
}

function readInput(schema: unknown, { limits }: MCPClientConfig, warn: (reason: string) => void): TSchema {
  if (!isObject(schema)) throw new Error("it has no input schema.");
  const { type } = schema;
  if (type !== undefined && type !== "object") throw new Error("its input is not an object.");
  if (type !== undefined) return FromSchema(schema, { limits });
  // Arguments travel as an object, whatever the schema forgets to say.
  warn('its input schema has no type, which MCP demands; "object" was added.');
  return FromSchema({ type: "object", ...schema }, { limits });
}

interface Output {
  /** Absent when the tool declares none that can be used. */
  schema?: TSchema;
  isWrapped: boolean;
}

function readOutput(schema: unknown, { config, connection }: ToolHost, warn: (reason: string) => void): Output {
  if (schema === undefined) return { isWrapped: false };
  const mayBeWrapped = config.unwrapResults !== false && connection.state.protocol?.era === "legacy";
  try {
    const inner = mayBeWrapped ? unwrapSchema(schema) : undefined;
    return { schema: FromSchema(inner ?? schema, { limits: config.limits }), isWrapped: inner !== undefined };
  } catch (error) {
    warn(`its output schema cannot be used, so its output can be anything: ${(error as Error).message}`);
    return { isWrapped: false };
  }
}

/** What the server says about the tool beyond the spec. JSON. */
function toMeta(tool: RawTool, { name, state }: MCPConnection): JSONObject {
  const { title, annotations, icons, execution, _meta } = tool;
  const server = defined({ name, info: state.server, protocol: state.protocol?.version });
  return defined({ server, tool: tool["name"], title, annotations, icons, execution, _meta });
}
