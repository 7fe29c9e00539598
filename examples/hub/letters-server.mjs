/** An MCP server over stdio that writes letters to customers. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "letters", version: "1.0.0" });
  server.registerTool(
    "write",
    {
      description: "Writes a letter about an order",
      inputSchema: z.object({ item: z.string(), days: z.number().int() }),
      outputSchema: z.object({ text: z.string() }),
    },
    ({ item, days }) => {
      const text = `Thank you for your order. Your ${item} arrives in ${days} days.`;
      return { content: [{ type: "text", text }], structuredContent: { text } };
    },
  );
  return server;
});
