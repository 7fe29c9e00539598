/** An MCP server over stdio that sends mail. This one keeps what it sends in memory. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const mail = z.object({ to: z.string(), subject: z.string(), body: z.string() });
const sent = [];

serveStdio(() => {
  const server = new McpServer({ name: "mail", version: "0.4.0" });
  server.registerTool(
    "send",
    {
      description: "Sends a mail",
      inputSchema: mail,
      outputSchema: z.object({ id: z.string() }),
    },
    (message) => {
      if (!message.to.includes("@")) {
        return { isError: true, content: [{ type: "text", text: `"${message.to}" is not an address.` }] };
      }
      const id = `mail-${sent.push(message)}`;
      return { content: [{ type: "text", text: id }], structuredContent: { id } };
    },
  );
  server.registerTool(
    "outbox",
    {
      description: "Lists the mails that were sent",
      inputSchema: z.object({}),
      outputSchema: z.object({ mails: z.array(mail) }),
      annotations: { readOnlyHint: true },
    },
    () => ({ content: [{ type: "text", text: `${sent.length} mails` }], structuredContent: { mails: sent } }),
  );
  return server;
});
