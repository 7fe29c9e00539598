import { Type } from "typebox";
import { mapMCPContentBlocks } from "./content.ts";
import { type ServerRequest, toServerOperation } from "./server-operation.ts";
import type { MCPOperation, ToolHost } from "./tool-operation.ts";

const open = { additionalProperties: true };
const Page = Type.Object({ cursor: Type.Optional(Type.String({ description: "nextCursor of the page before" })) });

const requests: ServerRequest[] = [
  {
    name: "list_resources",
    method: "resources/list",
    title: "List resources",
    description: "Lists the resources of the server, page by page.",
    inputSchema: Page,
    outputSchema: Type.Object(
      {
        resources: Type.Array(Type.Object({ uri: Type.String(), name: Type.String() }, open)),
        nextCursor: Type.Optional(Type.String()),
      },
      open,
    ),
    list: "resources",
    also: ["nextCursor"],
  },
  {
    name: "list_resource_templates",
    method: "resources/templates/list",
    title: "List resource templates",
    description: "Lists the templates by which URIs of resources are made, page by page.",
    inputSchema: Page,
    outputSchema: Type.Object(
      {
        resourceTemplates: Type.Array(Type.Object({ uriTemplate: Type.String(), name: Type.String() }, open)),
        nextCursor: Type.Optional(Type.String()),
      },
      open,
    ),
    list: "resourceTemplates",
    also: ["nextCursor"],
  },
  {
    name: "read_resource",
    method: "resources/read",
    title: "Read a resource",
    description: "Reads the resource with a URI. Binary content is base64 in blob.",
    inputSchema: Type.Object({ uri: Type.String() }),
    outputSchema: Type.Object({ contents: Type.Array(Type.Object({ uri: Type.String() }, open)) }, open),
    list: "contents",
    also: [],
    toContent: (items) => mapMCPContentBlocks(items.map((resource) => ({ type: "resource", resource }))),
  },
];

/** The server's resources as operations; none unless the configuration asks and the server has any. */
export function toResourceOperations(host: ToolHost): MCPOperation[] {
  const { config, connection } = host;
  if (config.resources !== true || connection.state.capabilities?.["resources"] === undefined) return [];
  return requests.map((request) => toServerOperation(request, host));
}
