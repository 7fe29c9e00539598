/** An MCP server over stdio that suggests what to pack. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const toResult = (structuredContent) => ({
  content: [{ type: "text", text: JSON.stringify(structuredContent) }],
  structuredContent,
});

serveStdio(() => {
  const server = new McpServer({ name: "packing", version: "3.1.0" });
  server.registerTool(
    "suggest",
    {
      title: "Suggest what to pack",
      description: "Suggests what to pack for a temperature",
      inputSchema: z.object({ celsius: z.number() }),
      outputSchema: z.object({ items: z.array(z.string()) }),
    },
    ({ celsius }) => toResult({ items: celsius < 10 ? ["coat", "gloves"] : ["umbrella"] }),
  );
  server.registerTool(
    "weigh",
    { description: "Weighs what was packed", inputSchema: z.object({ items: z.array(z.string()) }) },
    () => ({ isError: true, content: [{ type: "text", text: "The scales are broken." }] }),
  );
  return server;
});
