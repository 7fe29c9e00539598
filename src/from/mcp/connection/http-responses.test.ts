import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { call, connect, serveHTTP } from "./testing.ts";

/** Speaks the handshake of before 2026-07-28 without sessions; `respond` handles everything else. */
function handshake(respond: (message: { id: number; method: string }, response: ServerResponse) => void) {
  return serveHTTP((request, response, body) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined) return void response.writeHead(202).end();
    if (message.method !== "initialize") return respond(message, response);
    const result = {
      protocolVersion: message.params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "x", version: "1" },
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  });
}

test("an incomplete response fails immediately", async () => {
  const { url } = await handshake((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(': hello\n\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n');
  });
  const connection = await connect({ url, protocol: "legacy" });

  await expect(call(connection, "echo")).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: 'The MCP server "tiny" failed. The response ended before it was complete.',
    mayHaveRun: true,
  });
});

test("a response whose connection is lost fails immediately", async () => {
  const { url } = await handshake((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"jsonrpc":"2.0",');
    setImmediate(() => response.destroy());
  });
  const connection = await connect({ url, protocol: "legacy" });

  await expect(call(connection, "echo")).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
});

test.each([
  ["a JSON response", "application/json", (text: string) => text],
  ["an event", "text/event-stream", (text: string) => `data: ${text}\n\n`],
])("%s over the limit is PAYLOAD_TOO_LARGE, also when compressed", async (_, type, wrap) => {
  const { url } = await handshake(({ id }, response) => {
    const result = { content: [{ type: "text", text: "x".repeat(20_000_000) }] };
    response.writeHead(200, { "content-type": type, "content-encoding": "gzip" });
    response.end(gzipSync(wrap(JSON.stringify({ jsonrpc: "2.0", id, result }))));
  });
  const connection = await connect({ url, protocol: "legacy", limits: { responseBytes: 1_000_000 } });

  await expect(call(connection, "echo")).rejects.toMatchObject({
    code: "PAYLOAD_TOO_LARGE",
    message: 'The MCP server "tiny" failed. The response has more than 1000000 bytes.',
  });
});

test("a response that is nested too deeply is BAD_RESPONSE", async () => {
  const { url } = await handshake(({ id }, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(`{"jsonrpc":"2.0","id":${id},"result":{"content":${"[".repeat(5_000)}${"]".repeat(5_000)}}}`);
  });
  const connection = await connect({ url, protocol: "legacy" });

  await expect(call(connection, "echo")).rejects.toMatchObject({ code: "BAD_RESPONSE" });
});

test.each([
  ["HTML", 200, { "content-type": "text/html" }, "<h1>Login</h1>", "BAD_RESPONSE", true],
  ["broken JSON", 200, { "content-type": "application/json" }, "{", "BAD_RESPONSE", true],
  ["other JSON", 200, { "content-type": "application/json" }, '{"status":"ok"}', "BAD_RESPONSE", true],
  ["an error of the server", 500, {}, "oops", "BAD_RESPONSE", true],
  ["a busy server", 503, {}, "later", "UNAVAILABLE", true],
  ["too many requests", 429, {}, "later", "UNAVAILABLE", false],
  ["a refusal", 403, {}, "no", "UPSTREAM_DENIED", false],
  ["a redirect elsewhere", 307, { location: "http://127.0.0.1:1/mcp" }, "", "BAD_RESPONSE", false],
])("%s instead of a response has its own error", async (_, status, headers, body, code, mayHaveRun) => {
  const { url } = await handshake((_message, response) => void response.writeHead(status, headers).end(body));
  const connection = await connect({ url, protocol: "legacy" });

  await expect(call(connection, "echo")).rejects.toMatchObject({ name: "CallError", code, mayHaveRun });
});

test.each(["auto", "legacy"] as const)("a server of another protocol is named, with %s", async (protocol) => {
  const { url } = await serveHTTP((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"status":"ok"}');
  });

  await expect(connect({ url, protocol })).rejects.toMatchObject({
    code: "BAD_RESPONSE",
    message:
      'The response of the MCP server "tiny" to the handshake does not follow the protocol. Check that its URL is that of an MCP server.',
    mayHaveRun: false,
  });
});

test("a call without a response is a TIMEOUT", async () => {
  const { url } = await handshake(() => {});
  const connection = await connect({ url, protocol: "legacy" });

  const late = connection.callTool({ name: "hang" }, { tool: {}, timeout: 300 });

  await expect(late).rejects.toMatchObject({
    code: "TIMEOUT",
    message: 'The MCP server "tiny" did not respond to the call of tool "hang" within 300 ms.',
    mayHaveRun: true,
  });
});

test("arguments are sent as the headers that the server lists, also after a change", async () => {
  const seen: unknown[] = [];
  const { url } = await serveHTTP((request, response, body) => {
    const { id, method } = JSON.parse(body);
    const complete = (result: object) => ({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } });
    const property = { type: "string", "x-mcp-header": "Region" };
    const inputSchema = { type: "object", properties: { region: property } };
    const results: Record<string, () => object> = {
      "server/discover": () =>
        complete({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private" }),
      "tools/list": () => complete({ tools: [{ name: "go", inputSchema }], ttlMs: 0, cacheScope: "private" }),
      "tools/call": () => {
        seen.push(request.headers["mcp-param-region"]);
        return request.headers["mcp-param-region"] === undefined
          ? { jsonrpc: "2.0", id, error: { code: -32020, message: "Header mismatch" } }
          : complete({ content: [{ type: "text", text: "gone" }] });
      },
    };
    const result = results[method]!();
    response.writeHead("error" in result ? 400 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(result));
  });
  const connection = await connect({ url });
  const old = { name: "go", inputSchema: { type: "object" } };

  const { content } = await connection.callTool({ name: "go", arguments: { region: "eu" } }, { tool: old });

  expect(content).toEqual([{ type: "text", text: "gone" }]);
  expect(seen).toEqual([undefined, "eu"]);
});
