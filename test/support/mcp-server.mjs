/**
 * Serves one tool, `sum`, with the SDK's own server: over stdio, or on a free port that it prints, with `http` in the
 * current generation of the protocol and with `session` in a session. A path after it names a file with a page of tools.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createMcpHandler, Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const number = { type: "number" };
const tool = {
  name: "sum",
  description: "Adds two numbers",
  inputSchema: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
  outputSchema: { type: "object", properties: { sum: number }, required: ["sum"] },
};
const [, , mode, file] = process.argv;
const page = mode !== "http" || file === undefined ? { tools: [tool] } : JSON.parse(readFileSync(file, "utf8"));

/** Creates a server. The SDK requires a new one for every connection or request. */
export function buildServer() {
  const server = new Server({ name: "bench", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => page);
  server.setRequestHandler("tools/call", ({ params }) => {
    const structuredContent = { sum: params.arguments.a + params.arguments.b };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  });
  return server;
}

async function openSession() {
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => "bench" });
  await buildServer().connect(transport);
  return (request) => transport.handleRequest(request);
}

if (mode === "stdio") serveStdio(buildServer);
if (mode === "http" || mode === "session") {
  const fetch = mode === "session" ? await openSession() : createMcpHandler(buildServer).fetch;
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = await fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: request.headers,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
}
