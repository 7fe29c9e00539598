import { serveJSONRPC } from "../../examples/own-server/json-rpc-server.ts";
import { parseOperationId } from "../../src/operation/inside.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";
import { serveMCP } from "../../src/serve/mcp/index.ts";
import { toToolName } from "../../src/serve/tool-name.ts";
import { mcpMetaKey } from "../../src/transport/mcp-form.ts";
import { describeServer } from "./server.ts";

describeServer("serveHTTP", (registry, authenticate) => ({
  server: serveHTTP(registry, { authenticate }),
  toRequest: (operationId, body, init) => {
    const { namespace, name } = parseOperationId(operationId) ?? { namespace: operationId, name: "x" };
    return new Request(`http://localhost/${namespace}/${name}`, { method: "POST", body, ...init });
  },
  read: async (response) => {
    const body = await response.json();
    if (response.ok) return { data: body };
    return { code: body.code, ...("details" in body && { details: body.details }) };
  },
}));

describeServer("serveMCP", (registry, authenticate) => ({
  server: serveMCP(registry, { authenticate }),
  toRequest: (operationId, input, init) => {
    const name = toToolName(operationId);
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = `{"name":"${name}","arguments":{"input":${input}},"_meta":${JSON.stringify(envelope)}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const protocol = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
    return new Request("http://localhost/", {
      method: "POST",
      body,
      ...init,
      headers: { ...protocol, ...init.headers },
    });
  },
  read: async (response) => {
    const { result, error } = await response.json();
    if (error !== undefined) return { code: error.code === -32602 ? "OPERATION_NOT_FOUND" : String(error.code) };
    if (result.isError !== true) return { data: result.structuredContent };
    const { code, details } = result._meta[mcpMetaKey].error;
    return { code, ...(details !== undefined && { details }) };
  },
}));

describeServer("a user's own server", (registry, authenticate) => ({
  server: serveJSONRPC(registry, authenticate),
  toRequest: (method, params, init) => {
    const body = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`;
    const headers = { "content-length": String(Buffer.byteLength(body)), ...init.headers };
    return new Request("http://localhost/", { method: "POST", body, ...init, headers });
  },
  read: async (response) => {
    const { result, error } = await response.json();
    if (error === undefined) return { data: result };
    const { code, details } = error.data;
    return { code, ...(details !== undefined && { details }) };
  },
}));
