/** Walks to imported operations. The servers are not part of the package and do not count. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { openAPISource } from "@alkdev/operations/from-openapi";
import { root } from "../../scripts/subpaths.ts";
import type { Walk } from "./measure.ts";

/** `GET /tasks/{id}` of a server of Node, imported from an OpenAPI document. */
export async function startImportedHTTP(): Promise<Walk> {
  const http = createServer((_, response) => {
    response.setHeader("content-type", "application/json").end('{"id":7,"title":"hello"}');
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const registry = createRegistry();
  await registry.follow(
    openAPISource(describeAPI(`http://127.0.0.1:${(http.address() as AddressInfo).port}`), { namespace: "tasks" }),
  );
  const close = async () => {
    await registry.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  };
  return { call: () => registry.execute("tasks.getTask", { id: 7 }), close };
}

function describeAPI(url: string) {
  const task = {
    type: "object",
    properties: { id: { type: "integer" }, title: { type: "string" } },
    required: ["id", "title"],
  };
  return {
    openapi: "3.1.0",
    info: { title: "Tasks", version: "1.0.0" },
    servers: [{ url }],
    paths: {
      "/tasks/{id}": {
        get: {
          operationId: "getTask",
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
          responses: { 200: { description: "The task", content: { "application/json": { schema: task } } } },
        },
      },
    },
  };
}

/** A tool of a program on stdio, which is built with the SDK. */
export async function startMCPProgram(): Promise<Walk> {
  const registry = createRegistry();
  const args = [join(root, "test/support/mcp-server.mjs"), "stdio"];
  await registry.follow(mcpSource({ name: "tools", command: process.execPath, args }));
  return { call: () => registry.execute("tools.sum", { a: 19, b: 23 }), close: () => registry.close() };
}
