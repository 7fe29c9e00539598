import { type TSchema, Type } from "typebox";
import { isObject, type JSONObject } from "../../internal/objects.ts";
import {
  CallError,
  type MCPContentBlock,
  mcpEnvelope,
  type OperationContext,
  OperationType,
} from "../../operation/index.ts";
import { inputRequired, toCallError } from "./call-errors.ts";
import { toRequestOptions } from "./call-tool.ts";
import { mapMCPContentBlocks } from "./content.ts";
import { type MCPOperation, type ToolHost, versionOf } from "./tool-operation.ts";

/** A protocol request, other than a tool call, that is offered as an operation. */
interface ServerRequest {
  readonly name: string;
  readonly method: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: TSchema;
  /** The property of the result that must be an array. */
  readonly list: string;
  /** Schema of its items. */
  readonly item: TSchema;
  /** Additional properties of the result that are part of the data. */
  readonly further?: Record<string, TSchema>;
  /** Converts the items into content blocks. @default no content blocks */
  readonly toContent?: (items: readonly unknown[]) => MCPContentBlock[];
}

const open = { additionalProperties: true };
const optionalString = Type.Optional(Type.String());
const page = {
  inputSchema: Type.Object({
    cursor: Type.Optional(Type.String({ description: "nextCursor of the previous page" })),
  }),
  further: { nextCursor: optionalString },
};

const resourceRequests: ServerRequest[] = [
  {
    name: "list_resources",
    method: "resources/list",
    title: "List resources",
    description: "Lists the resources of the server, page by page.",
    ...page,
    list: "resources",
    item: Type.Object({ uri: Type.String(), name: Type.String() }, open),
  },
  {
    name: "list_resource_templates",
    method: "resources/templates/list",
    title: "List resource templates",
    description: "Lists the URI templates of the server's resources, page by page.",
    ...page,
    list: "resourceTemplates",
    item: Type.Object({ uriTemplate: Type.String(), name: Type.String() }, open),
  },
  {
    name: "read_resource",
    method: "resources/read",
    title: "Read a resource",
    description: "Reads the resource with a URI. Binary content is base64 in blob.",
    inputSchema: Type.Object({ uri: Type.String() }),
    list: "contents",
    item: Type.Object({ uri: Type.String() }, open),
    toContent: (items) => mapMCPContentBlocks(items.map((resource) => ({ type: "resource", resource }))),
  },
];

const promptRequests: ServerRequest[] = [
  {
    name: "list_prompts",
    method: "prompts/list",
    title: "List prompts",
    description: "Lists the prompts of the server, page by page.",
    ...page,
    list: "prompts",
    item: Type.Object({ name: Type.String() }, open),
  },
  {
    name: "get_prompt",
    method: "prompts/get",
    title: "Get a prompt",
    description: "Returns the messages of a prompt, filled in with arguments.",
    inputSchema: Type.Object({
      name: Type.String(),
      arguments: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
    list: "messages",
    item: Type.Object({ role: Type.String(), content: Type.Unknown() }, open),
    further: { description: optionalString },
    toContent: (items) =>
      mapMCPContentBlocks(items.map((message) => (isObject(message) ? message["content"] : message))),
  },
];

/** Returns the operations for resources and prompts that the configuration enables and the server supports. */
export function toServerOperations(host: ToolHost): MCPOperation[] {
  const { config, connection } = host;
  const { capabilities = {} } = connection.state;
  const requests: ServerRequest[] = [];
  if (config.resources === true && capabilities["resources"] !== undefined) requests.push(...resourceRequests);
  if (config.prompts === true && capabilities["prompts"] !== undefined) requests.push(...promptRequests);
  return requests.map((request) => toServerOperation(request, host));
}

function toServerOperation(request: ServerRequest, { namespace, connection, config }: ToolHost): MCPOperation {
  const { name, method, title, description, inputSchema, list, item, further = {} } = request;
  const operationId = `${namespace}.${name}`;
  return {
    namespace,
    name,
    version: versionOf(connection.state),
    type: OperationType.QUERY,
    title,
    description,
    inputSchema,
    outputSchema: Type.Object({ [list]: Type.Array(item), ...further }, open),
    accessControl: config.accessControl ?? { requiredScopes: [] },
    idempotent: true,
    ...(config.outputPolicy !== undefined && { outputPolicy: config.outputPolicy }),
    _meta: { mcp: { server: { name: connection.name }, method } },
    fillDefaults: false,
    handler: async (input: unknown, context: OperationContext) => {
      const params = isObject(input) ? input : {};
      const options = toRequestOptions(context, operationId);
      const result = await connection.request(method, params, options).catch((error: unknown) => {
        throw toCallError(error, operationId);
      });
      return toEnvelope(result, request, operationId);
    },
    ...(Object.hasOwn(further, "nextCursor") && { nextPage }),
  };
}

function toEnvelope(result: unknown, { list, further = {}, toContent }: ServerRequest, operationId: string) {
  if (isObject(result) && result["resultType"] === "input_required") throw inputRequired(operationId);
  if (!isObject(result) || !Array.isArray(result[list])) {
    throw new CallError("BAD_RESPONSE", `"${operationId}" returned a result without ${list}.`, { operationId });
  }
  const data: JSONObject = { [list]: result[list] };
  for (const key of Object.keys(further)) if (result[key] !== undefined) data[key] = result[key];
  const content = toContent?.(result[list]) ?? [];
  return mcpEnvelope(data, { isError: false, content, ...(isObject(result["_meta"]) && { _meta: result["_meta"] }) });
}

const nextPage: MCPOperation["nextPage"] = (input, { data }) => {
  const cursor = isObject(data) ? data["nextCursor"] : undefined;
  return typeof cursor === "string" ? { ...input, cursor } : undefined;
};
