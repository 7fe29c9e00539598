import { Type } from "typebox";
import { mapMCPContentBlocks } from "./content.ts";
import { type ServerRequest, toServerOperation } from "./server-operation.ts";
import type { MCPOperation, ToolHost } from "./tool-operation.ts";
import { isObject } from "./values.ts";

const open = { additionalProperties: true };

const requests: ServerRequest[] = [
  {
    name: "list_prompts",
    method: "prompts/list",
    title: "List prompts",
    description: "Lists the prompts of the server, page by page.",
    inputSchema: Type.Object({
      cursor: Type.Optional(Type.String({ description: "nextCursor of the page before" })),
    }),
    outputSchema: Type.Object(
      {
        prompts: Type.Array(Type.Object({ name: Type.String() }, open)),
        nextCursor: Type.Optional(Type.String()),
      },
      open,
    ),
    list: "prompts",
    also: ["nextCursor"],
  },
  {
    name: "get_prompt",
    method: "prompts/get",
    title: "Get a prompt",
    description: "Gives the messages of a prompt, filled in with arguments.",
    inputSchema: Type.Object({
      name: Type.String(),
      arguments: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
    outputSchema: Type.Object(
      {
        description: Type.Optional(Type.String()),
        messages: Type.Array(Type.Object({ role: Type.String(), content: Type.Unknown() }, open)),
      },
      open,
    ),
    list: "messages",
    also: ["description"],
    toContent: (items) =>
      mapMCPContentBlocks(items.map((message) => (isObject(message) ? message["content"] : message))),
  },
];

/** The server's prompts as operations; none unless the configuration asks and the server has any. */
export function toPromptOperations(host: ToolHost): MCPOperation[] {
  const { config, connection } = host;
  if (config.prompts !== true || connection.state.capabilities?.["prompts"] === undefined) return [];
  return requests.map((request) => toServerOperation(request, host));
}
