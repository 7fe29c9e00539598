import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import {
  type CallToolResult,
  createMcpHandler,
  inputRequired,
  inputResponse,
  ProtocolError,
  Server,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";

type Answer = CallToolResult | ReturnType<typeof inputRequired>;

interface ShopTool extends Omit<Tool, "name" | "inputSchema"> {
  inputSchema?: Tool["inputSchema"];
  run(input: Record<string, unknown>, call: ServerContext): Answer | Promise<Answer>;
}

const text = (value: string) => ({ type: "text" as const, text: value });
const price = {
  type: "object" as const,
  properties: { price: { type: "number" }, currency: { type: "string", default: "EUR" } },
  required: ["price"],
};

const tools: Record<string, ShopTool> = {
  price: {
    title: "Price",
    description: "Tells what an article costs",
    inputSchema: { type: "object", properties: { article: { type: "string" } }, required: ["article"] },
    outputSchema: price,
    annotations: { readOnlyHint: true },
    run: ({ article }) => ({
      content: [text(`${article} costs 2`)],
      structuredContent: { price: 2, currency: "EUR" },
      _meta: { "shop/stock": 7 },
    }),
  },
  drifting: {
    description: "Answers not quite as it says",
    outputSchema: price,
    run: () => ({ content: [], structuredContent: { price: "2.5", secret: "s" } }),
  },
  wrong: {
    description: "Answers with something else than it says",
    outputSchema: price,
    run: () => ({ content: [], structuredContent: { price: "much" } }),
  },
  list: {
    description: "Answers with a list",
    outputSchema: { type: "array", items: { type: "string" } } as unknown as typeof price,
    run: () => ({ content: [], structuredContent: ["tea", "milk"] }) as unknown as CallToolResult,
  },
  as_text: {
    description: "Has a schema, but answers with a text",
    outputSchema: price,
    run: () => ({ content: [text('{"price":3,"currency":"EUR"}')] }),
  },
  sold_out: {
    description: "Reports an error",
    outputSchema: price,
    run: () => ({ content: [text("sold out")], isError: true }),
  },
  picky: {
    description: "Refuses every argument",
    run: () => {
      throw new ProtocolError(-32602, "not this", { field: "article" });
    },
  },
  broken: {
    description: "Throws",
    run: () => {
      throw new Error("out of order");
    },
  },
  count: {
    description: "Reports progress",
    run: async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= 3 && progressToken !== undefined; progress++) {
        const params = { progressToken, progress, total: 3, message: `step ${progress}` };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      return { content: [text("counted")] };
    },
  },
  wait: {
    description: "Answers when it is cancelled, and reports progress all the time",
    run: async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; !mcpReq.signal.aborted; progress++) {
        if (progressToken !== undefined) {
          await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } });
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      cancelled += 1;
      return { content: [] };
    },
  },
  cancelled: {
    description: "Tells how many calls of wait were cancelled",
    run: () => ({ content: [], structuredContent: { count: cancelled } }),
  },
  order: {
    description: "Asks its user how many",
    run: (_, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, "amount");
      if (answer.kind === "missing") {
        const requestedSchema = { type: "object" as const, properties: { amount: { type: "number" as const } } };
        return inputRequired({
          inputRequests: { amount: inputRequired.elicit({ message: "How many?", requestedSchema }) },
        });
      }
      return { content: [text(answer.kind === "elicit" ? `${answer.action} ${JSON.stringify(answer.content)}` : "?")] };
    },
  },
  pid: {
    description: "Tells which process it is",
    run: () => ({ content: [], structuredContent: { pid: process.pid } }),
  },
  crash: { description: "Ends the program", run: () => process.exit(3) },
  open_shelf: {
    description: "Puts another tool, and another description, into the list",
    run: () => {
      tools["shelf"] = { description: "Is new", run: () => ({ content: [text("shelf")] }) };
      tools["sold_out"]!.description = "Reports an error, still";
      delete tools["picky"];
      changed();
      return { content: [] };
    },
  },
};

let cancelled = 0;
let changed = () => {};
const initialTools = { ...tools };

/** Puts everything back. */
export function resetShop(): void {
  for (const name of Object.keys(tools)) delete tools[name];
  Object.assign(tools, initialTools);
  tools["sold_out"]!.description = "Reports an error";
  cancelled = 0;
}

/** How the shop reports that its list changed. */
export function onShopChange(listener: () => void): void {
  changed = listener;
}

/** A fresh server, as the SDK wants one for every connection or request. */
export function createShop(): Server {
  const server = new Server(
    { name: "shop", version: "4.5.6" },
    { capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.entries(tools).map(
      ([name, { run, inputSchema = { type: "object" }, ...tool }]) => ({ name, inputSchema, ...tool }) as Tool,
    ),
  }));
  server.setRequestHandler("tools/call", async ({ params }, call) => {
    const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined;
    if (tool === undefined) throw new ProtocolError(-32602, `Unknown tool: ${params.name}`);
    const answer = await tool.run(params.arguments ?? {}, call);
    return server.projectCallToolResult(answer as CallToolResult, tool.outputSchema);
  });
  server.setRequestHandler("resources/list", () => ({ resources: [{ uri: "shop:tea", name: "tea" }] }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    if (uri !== "shop:tea") throw new ProtocolError(-32602, "No such resource");
    return { contents: [{ uri, mimeType: "text/plain", text: "green" }] };
  });
  server.setRequestHandler("prompts/list", () => ({ prompts: [{ name: "greet" }] }));
  server.setRequestHandler("prompts/get", ({ params }) => ({
    messages: [{ role: "user", content: text(`Hello ${params.arguments?.["name"]}`) }],
  }));
  return server;
}

/** The shop over HTTP on a free port. */
export async function serveShop(): Promise<{ url: string; close(): Promise<void> }> {
  const handler = createMcpHandler(createShop);
  onShopChange(() => handler.notify.toolsChanged());
  const server = createServer(async (request, response) => {
    const abort = new AbortController();
    response.on("close", () => abort.abort());
    const answer = await handler.fetch(toWebRequest(request, abort.signal));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else
      Readable.fromWeb(answer.body as ReadableStream)
        .on("error", () => response.destroy())
        .pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toWebRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const hasBody = request.method !== "GET" && request.method !== "HEAD";
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method,
    headers: request.headers as Record<string, string>,
    signal,
    ...(hasBody && { body: Readable.toWeb(request) as unknown as BodyInit, duplex: "half" }),
  } as RequestInit);
}
