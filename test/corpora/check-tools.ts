import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type IOperationDefinition, OperationRegistry } from "../../src/index.ts";
import { serveMCP } from "../../src/serve/mcp/index.ts";

/** The part of the clients that is used. */
interface ToolClient {
  listTools(params: { cursor?: string }): Promise<{ tools: Tool[]; nextCursor?: string }>;
  close(): Promise<void>;
}

interface Tool {
  name: string;
  inputSchema: object;
  outputSchema?: object;
}

/**
 * Serves operations as MCP tools, lists them with the clients of the SDK, and compiles every schema as these clients do.
 * Returns what should not be: lists that fail, tools that are missing, schemas that do not compile.
 */
export async function checkTools(operations: readonly IOperationDefinition[]): Promise<string[]> {
  const registry = new OperationRegistry();
  registry.registerAll([...operations]);
  await using server = serveMCP(registry, { authenticate: "none", mode: "tools" });
  const url = new URL("http://localhost/mcp");
  const fetch = async (input: string | URL, init?: RequestInit) => server.fetch(new Request(input, init));
  const info = { name: "corpora", version: "1.0.0" };
  const older = new OlderClient(info); // It compiles output schemas when it lists tools.
  await older.connect(new OlderTransport(url, { fetch }) as never);
  const clients: Record<string, unknown> = { "version 1": older };
  for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
    const client = new Client(info, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(url, { fetch }));
    clients[JSON.stringify(mode)] = client;
  }
  const problems: string[] = [];
  for (const [name, client] of Object.entries(clients) as Array<[string, ToolClient]>) {
    const tools = await listAll(client).catch((error) => problems.push(`${name}: ${String(error).slice(0, 300)}`));
    if (Array.isArray(tools)) {
      if (tools.length !== operations.length) problems.push(`${name}: ${tools.length} tools`);
      if (client instanceof Client) problems.push(...tools.flatMap(findUnusable));
    }
    await client.close();
  }
  return problems;
}

async function listAll(client: ToolClient): Promise<Tool[]> {
  const all: Tool[] = [];
  let cursor: string | undefined = "";
  do {
    const page: Awaited<ReturnType<ToolClient["listTools"]>> = await client.listTools(cursor ? { cursor } : {});
    all.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

function findUnusable({ name, inputSchema, outputSchema = {} }: Tool): string[] {
  try {
    for (const schema of [inputSchema, outputSchema]) {
      new Ajv2020({ strict: false, validateSchema: false, logger: false }).compile(schema);
    }
    return [];
  } catch (error) {
    return [`${name}: ${String(error).slice(0, 300)}`];
  }
}
