/** An MCP server over stdio whose results have blocks of every type. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** A red square of 16 pixels. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR4nGO4I2JCEmIY1TCqYfhqAABQf+gQ6oQGzQAAAABJRU5ErkJggg==";
const svg = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg"><script>parent.document.title = "owned"</script></svg>',
).toString("base64");
const wav = Buffer.concat([
  Buffer.from("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1"),
  Buffer.alloc(64),
]).toString("base64");

serveStdio(() => {
  const server = new McpServer({ name: "media", version: "1.0.0" });
  server.registerTool(
    "caption",
    {
      description: "Writes a caption for a forecast",
      inputSchema: z.object({ city: z.string(), degrees: z.number() }),
      outputSchema: z.object({ text: z.string() }),
    },
    ({ city, degrees }) => {
      const text = `${degrees} degrees in ${city}. Take a coat.`;
      return { content: [{ type: "text", text }], structuredContent: { text } };
    },
  );
  server.registerTool(
    "draw",
    { description: "Draws a picture, and says what it is", inputSchema: z.object({ of: z.string() }) },
    ({ of }) => ({
      content: [
        { type: "text", text: `A picture of ${of}.` },
        { type: "image", data: png, mimeType: "image/png" },
        { type: "image", data: svg, mimeType: "image/svg+xml" },
        { type: "audio", data: wav, mimeType: "audio/wav" },
        { type: "resource_link", uri: "https://example.com/gallery", name: "The gallery" },
        { type: "resource_link", uri: "javascript:document.title='owned'", name: "A trap" },
        { type: "resource", resource: { uri: "file:///notes.txt", text: "<b>Not bold</b>", mimeType: "text/plain" } },
      ],
    }),
  );
  server.registerTool("fail", { description: "Fails", inputSchema: z.object({}) }, () => ({
    isError: true,
    content: [{ type: "text", text: "The brush is dry." }],
  }));
  return server;
});
