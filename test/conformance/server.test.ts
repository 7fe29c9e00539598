import { serveJSONRPC } from "../../examples/own-server/json-rpc-server.ts";
import { parseOperationId } from "../../src/operation/index.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";
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
