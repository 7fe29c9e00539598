import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import type { OperationRegistry } from "../../registry/index.ts";
import type { FetchServer } from "../server.ts";
import { type ServeMCPOptions, serveMCP } from "./serve-mcp.ts";

/** The generations of the protocol, as the client of the SDK names them. */
export const generations = ["legacy", "2026-07-28"] as const;
export type Generation = (typeof generations)[number];

/** Whether structured content may be any JSON value. */
export function isModern(generation: Generation): boolean {
  return generation !== "legacy";
}

const address = "http://localhost/mcp";

/** Serves a registry until the test is finished, without authentication unless the options say otherwise. */
export function serve(registry: OperationRegistry, options: Partial<ServeMCPOptions> = {}): FetchServer {
  const server = serveMCP(registry, { authenticate: "none", ...options });
  onTestFinished(() => server.close({ timeout: 0 }));
  return server;
}

interface ConnectOptions {
  token?: string | undefined;
  /** Called when the list of tools has changed. */
  onTools?: (() => void) | undefined;
}

/** Connects a client of the SDK to a server in this process, until the test is finished. */
export async function connect(
  server: FetchServer,
  generation: Generation,
  { token, onTools }: ConnectOptions = {},
): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(address), {
    fetch: async (url, init) => server.fetch(new Request(url, init)),
    ...(token !== undefined && { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  });
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: generation === "legacy" ? "legacy" : { pin: generation } },
      ...(onTools !== undefined && { listChanged: { tools: { onChanged: () => onTools(), debounceMs: 0 } } }),
    },
  );
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** Sends a message to a server in this process and returns the response. */
export async function post(
  server: FetchServer,
  message: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const common = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return server.fetch(new Request(address, { method: "POST", headers: { ...common, ...headers }, body }));
}

/** Connects a client of version 1 of the SDK to a server in this process, until the test is finished. */
export async function connectOlder(server: FetchServer): Promise<OlderClient> {
  const client = new OlderClient({ name: "test", version: "1.0.0" });
  const fetch = async (url: string | URL, init?: RequestInit) => server.fetch(new Request(url, init));
  await client.connect(new OlderTransport(new URL(address), { fetch }) as never);
  onTestFinished(() => client.close());
  return client;
}

/** Calls a tool of a server in this process, with the headers of a generation. Returns the response, which was not read. */
export async function postCall(server: FetchServer, generation: Generation, params: { name: string; _meta: object }) {
  const call = (_meta: object) => {
    return { jsonrpc: "2.0", id: 7, method: "tools/call", params: { arguments: {}, ...params, _meta } };
  };
  if (isModern(generation)) {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": generation,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const headers = { "mcp-protocol-version": generation, "mcp-method": "tools/call", "mcp-name": params.name };
    return post(server, call({ ...meta, ...params._meta }), headers);
  }
  const start = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const opened = await post(server, { jsonrpc: "2.0", id: 1, method: "initialize", params: start });
  await opened.text();
  return post(server, call(params._meta), { "mcp-session-id": opened.headers.get("mcp-session-id")! });
}
