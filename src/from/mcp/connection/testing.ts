import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { MCPClientConfig } from "../config.ts";
import { type MCPConnection, openConnection } from "./index.ts";

/**
 * A stdio server in a few lines of JavaScript, without an SDK. `send(message)` writes a message;
 * `handlers[method](message)` returns a result, or `undefined` to send no response.
 */
const prelude = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const tool = (name, more) => ({ name, inputSchema: { type: "object" }, ...more });
const text = (text) => ({ content: [{ type: "text", text }] });
const calls = {};
const handlers = {
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "tiny", version: "1.2.3" },
  }),
  "tools/list": () => ({ tools: Object.keys(calls).map((name) => tool(name)) }),
  "tools/call": (message) => calls[message.params.name](message.params.arguments ?? {}, message),
};
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) receive(JSON.parse(line));
});
const receive = (message) => {
  const handler = handlers[message.method];
  if (message.id === undefined) return void handler?.(message);
  if (message.method === undefined) return void handlers.response?.(message);
  if (handler === undefined) return send({ id: message.id, error: { code: -32601, message: "Method not found" } });
  const result = handler(message);
  if (result !== undefined) send({ id: message.id, result });
};
calls.echo = (args) => text(JSON.stringify(args));
calls.pid = () => text(String(process.pid));
`;

/** Makes a {@link program} support only 2026-07-28. */
export const modern = `
  handlers.initialize = undefined;
  const complete = (result) => ({ resultType: "complete", ...result });
  handlers["server/discover"] = () => complete({
    supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "new", version: "3" } },
  });
  const list = handlers["tools/list"], run = handlers["tools/call"];
  handlers["tools/list"] = (message) => complete({ ...list(message), ttlMs: 0, cacheScope: "private" });
  handlers["tools/call"] = (message) => { const result = run(message); return result && complete(result); };
`;

/** Returns the configuration that starts a program written in the test. */
export function program(source = ""): Pick<MCPClientConfig, "command" | "args"> {
  return { command: process.execPath, args: ["-e", prelude + source] };
}

/** Opens a connection that is closed when the test ends. */
export async function connect(config: MCPClientConfig, name = "tiny"): Promise<MCPConnection> {
  const connection = await openConnection(name, config);
  onTestFinished(() => connection.close());
  return connection;
}

/** Calls a tool and returns the text of its result. */
export async function call(connection: MCPConnection, name: string, args?: Record<string, unknown>): Promise<string> {
  const { content } = await connection.callTool({ name, arguments: args }, { tool: { name } });
  return (content as Array<{ text: string }>)[0]!.text;
}

/** Returns the process id of a server made with {@link program}. */
export async function pidOf(connection: MCPConnection): Promise<number> {
  return Number(await call(connection, "pid"));
}

/** Whether a process is running. A zombie does not count. */
export async function isRunning(pid: number): Promise<boolean> {
  const { readFile } = await import("node:fs/promises");
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") R");
  return !/\) [ZX]/.test(stat);
}

/** Resolves when the connection has the status. */
export function reaches(connection: MCPConnection, status: string): Promise<void> {
  return new Promise((resolve) => {
    if (connection.state.status === status) return resolve();
    const stop = connection.onStateChange((state) => {
      if (state.status !== status) return;
      stop();
      resolve();
    });
  });
}

/** An HTTP server on a free port that ends with the test. Returns its URL. */
export async function serveHTTP(
  handle: (request: IncomingMessage, response: ServerResponse, body: string) => void | Promise<void>,
): Promise<{ url: string; server: Server }> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    await handle(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => stopHTTP(server));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, server };
}

/** Ends a server and its connections. */
export async function stopHTTP(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/** Serves a web-standard handler over a socket. A client that disconnects aborts its request. */
export function serveWeb(
  handle: (request: Request) => Promise<Response>,
  see: (request: IncomingMessage, body: string) => void = () => {},
): Promise<{ url: string; server: Server }> {
  return serveHTTP(async (incoming, outgoing, body) => {
    see(incoming, body);
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    const answer = await handle(
      new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method,
        headers: incoming.headers as Record<string, string>,
        body: body === "" ? undefined : body,
        signal: gone.signal,
      }),
    );
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    outgoing.flushHeaders();
    try {
      for await (const chunk of answer.body ?? []) outgoing.write(chunk);
    } catch {
      // The client has disconnected.
    }
    outgoing.end();
  });
}
