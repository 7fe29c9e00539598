/** An MCP server over stdio, as others write them: notes in memory. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const notes = new Map();
const Note = z.object({ id: z.string(), text: z.string() });

const toResult = (structuredContent) => ({
  content: [{ type: "text", text: JSON.stringify(structuredContent) }],
  structuredContent,
});

serveStdio(() => {
  const server = new McpServer({ name: "notes", version: "1.4.0" });
  server.registerTool(
    "add",
    { description: "Adds a note", inputSchema: z.object({ text: z.string().min(1) }), outputSchema: Note },
    ({ text }) => {
      const note = { id: `note-${notes.size + 1}`, text };
      notes.set(note.id, note);
      // The output schema does not declare a revision.
      return toResult({ ...note, revision: 1 });
    },
  );
  server.registerTool(
    "search",
    {
      description: "Finds notes by a word",
      inputSchema: z.object({ word: z.string() }),
      outputSchema: z.object({ notes: z.array(Note) }),
      annotations: { readOnlyHint: true },
    },
    ({ word }) => toResult({ notes: [...notes.values()].filter(({ text }) => text.includes(word)) }),
  );
  server.registerTool(
    "share",
    { description: "Shares a note", inputSchema: z.object({ id: z.string(), address: z.string() }) },
    ({ id, address }) => {
      if (!notes.has(id)) return { isError: true, content: [{ type: "text", text: `There is no ${id}.` }] };
      return { content: [{ type: "text", text: `Sent to ${address}.` }] };
    },
  );
  return server;
});
