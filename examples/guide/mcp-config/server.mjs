/** An MCP server over stdio: notes in memory. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const notes = [];
const asResult = (structuredContent) => ({
  content: [{ type: "text", text: JSON.stringify(structuredContent) }],
  structuredContent,
});

serveStdio(() => {
  const server = new McpServer({ name: "notes", version: "1.4.0" });
  server.registerTool("add", { inputSchema: z.object({ text: z.string() }) }, ({ text }) =>
    asResult({ count: notes.push(text) }),
  );
  server.registerTool("list", { inputSchema: z.object({}), annotations: { readOnlyHint: true } }, () =>
    asResult({ notes }),
  );
  return server;
});
