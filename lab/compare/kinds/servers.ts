/** Requests to the HTTP and MCP servers, handled in process, and the documents that they publish. */
import type { Random } from "../../chaos/random.ts";
import { toJSONText } from "../json-text.ts";
import { defineKind, outcomeOf } from "../kind.ts";
import type { Library } from "../library.ts";
import { anyInput, anyOperations, define, idOf, type Operation } from "../operations.ts";

interface Served {
  operations: Operation[];
  rules: string[][];
  /** How callers are authenticated. */
  authenticate: "none" | "tokens";
  exposeErrors: boolean;
  /** Whether callers without credentials may call what requires no scopes. The reference always allows it. */
  allowAnonymous: boolean;
}

function anyServed(random: Random, count: number): Served {
  const operations = anyOperations(random, count).map((one): Operation => {
    if (!random.chance(0.12) || one.type === "subscription") return one;
    const http =
      one.type === "query" ? "GET /own/{id}" : random.pick(["POST /own/{id}", "PUT /own", "DELETE /own/{name}"]);
    return { ...one, more: { ...one.more, http } };
  });
  return {
    operations,
    rules: operations.map(
      () =>
        random.weighted([
          { weight: 6, rule: [] },
          { weight: 2, rule: ["read"] },
          { weight: 1, rule: ["admin"] },
        ]).rule,
    ),
    authenticate: random.pick(["none", "tokens", "tokens"] as const),
    exposeErrors: random.chance(0.15),
    allowAnonymous: random.chance(0.8),
  };
}

function registryOf({ operations, rules }: Served, library: Library) {
  const registry = new library.root.OperationRegistry({ log: false });
  const registered = operations.map((one, index) =>
    outcomeOf(() => registry.register({ ...define(one, library), accessControl: { requiredScopes: rules[index]! } })),
  );
  return { registry, registered };
}

function optionsOf({ authenticate, exposeErrors, allowAnonymous }: Served) {
  const identify = ({ token }: { token?: string }) => {
    if (token === undefined) return undefined;
    if (token === "let-me-in") return { id: "ada", scopes: ["read"] };
    throw new Error("The token is unknown.");
  };
  return { authenticate: authenticate === "none" ? authenticate : identify, exposeErrors, allowAnonymous } as never;
}

const tokens = ["let-me-in", "let-me-in", "let-me-in", "let-me-in", undefined, "wrong"];

interface HTTPRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

function anyRequest(random: Random, { operations }: Served): HTTPRequest {
  const operation = random.pick(operations);
  const input = anyInput(random, operation.inputSchema);
  const path = `/${[operation.namespace, ...operation.name.split("/")].map(encodeURIComponent).join("/")}`;
  const usual = operation.type === "mutation" ? "POST" : random.pick(["GET", "GET", "POST"]);
  const method = random.chance(0.9) ? usual : random.pick(["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE"]);
  const token = random.pick(tokens);
  const hasBody = method !== "GET" && method !== "HEAD";
  const headers: Record<string, string> = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(random.chance(0.3) && { accept: "application/vnd.alkdev.envelope+json" }),
    ...(random.chance(0.05) && { accept: "text/html" }),
    ...(hasBody && { "content-type": random.chance(0.95) ? "application/json" : "text/plain" }),
    ...(random.chance(0.05) && { origin: "https://other.example" }),
    ...(random.chance(0.05) && { "sec-fetch-site": "cross-site" }),
    ...(random.chance(0.05) && { prefer: random.pick(["wait=5", "wait=x", "wait=0"]) }),
    ...(random.chance(0.03) && { "last-event-id": "3" }),
    ...(random.chance(0.05) && { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }),
  };
  const target = random.chance(0.95)
    ? path
    : random.pick(["/", "/nothing", "/task", "/task/creat", "/own/1", "/health", `${path}/`, "//", "/task/%2e%2e"]);
  const body = hasBody ? toBody(random, input) : undefined;
  return { method, path: method === "GET" ? target + toQuery(random, input) : target, headers, body };
}

function toBody(random: Random, input: unknown): string | undefined {
  if (random.chance(0.05))
    return random.pick([undefined, "", "{", "[1,2", "null", '{"a":1}x', '{"__proto__":{"x":1}}']);
  return toJSONText(input);
}

function toQuery(random: Random, input: unknown): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || typeof value === "function" || typeof value === "symbol" || typeof value === "bigint")
      continue;
    if (Array.isArray(value) && value.every((item) => typeof item !== "object")) {
      for (const item of value) query.append(name, String(item));
    } else query.append(name, typeof value === "string" ? value : toJSONText(value));
  }
  if (random.chance(0.05)) query.append(random.pick(["unknown", "id", "name"]), "1");
  return query.size === 0 ? "" : `?${query}`;
}

/** Headers that say something about the result. */
const headerNames = [
  "content-type",
  "operation-id",
  "drift-total",
  "allow",
  "www-authenticate",
  "retry-after",
  "location",
  "vary",
  "cache-control",
  "content-disposition",
  "content-security-policy",
  "x-content-type-options",
  "access-control-allow-origin",
];

async function readResponse(response: Response): Promise<unknown> {
  const headers = Object.fromEntries(
    headerNames.flatMap((name) => response.headers.get(name) ?? []).length > 0
      ? headerNames.filter((name) => response.headers.has(name)).map((name) => [name, response.headers.get(name)])
      : [],
  );
  const text = await response.text();
  return { status: response.status, headers, body: parse(text) };
}

/** Parses JSON, and server-sent events into their fields. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (!/^(?:id|data|event|:)/m.test(text)) return text;
    return text.split("\n\n").map((block) =>
      block.split("\n").map((line) => {
        const [field, data] = [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()];
        return field === "data" && data.startsWith("{") ? { data: outcomeOfJSON(data) } : line;
      }),
    );
  }
}

function outcomeOfJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const http = defineKind({
  name: "http",
  weight: 9,
  generate: (random) => {
    const served = anyServed(random, 3);
    return { ...served, requests: Array.from({ length: 5 }, () => anyRequest(random, served)) };
  },
  run: async (one, library) => {
    const { registry, registered } = registryOf(one, library);
    const reports: unknown[] = [];
    const server = library.serveHTTP(registry, {
      ...(optionsOf(one) as object),
      onReport: (report: unknown) => reports.push(report),
    } as never);
    const responses = [];
    for (const { method, path, headers, body } of one.requests) {
      responses.push(
        await outcomeOf(async () => {
          const request = new Request(`http://localhost${path}`, {
            method,
            headers,
            ...(body !== undefined && { body }),
          });
          return readResponse(await server.fetch(request));
        }),
      );
    }
    await server.close({ timeout: 0 });
    return { registered: await Promise.all(registered), reports, responses };
  },
});

export const document = defineKind({
  name: "document",
  weight: 2,
  generate: (random) => anyServed(random, random.integer(1, 6)),
  run: async (one, library) => {
    const { registry } = registryOf(one, library);
    const server = library.serveHTTP(registry, { ...(optionsOf(one) as object), onReport: () => {} } as never);
    const headers = { authorization: "Bearer let-me-in" };
    const read = async () =>
      readResponse(await server.fetch(new Request("http://localhost/openapi.json", { headers })));
    const published = (await read()) as { body: object };
    const imported = await outcomeOf(() =>
      library.root.FromOpenAPI(published.body as never, {
        namespace: "imported",
        baseUrl: "http://localhost",
        onReport: () => {},
      }),
    );
    const trusted = await outcomeOf(async () => {
      const fetch = (async (url: string, init: RequestInit) => server.fetch(new Request(url, init))) as never;
      const other = new library.root.OperationRegistry({ log: false });
      const source = library.fromOpenAPI.openAPISource("http://localhost/openapi.json", {
        trust: "operations",
        fetch,
        auth: { type: "bearer", token: "let-me-in" },
      } as never);
      await other.follow(source, { onReport: () => {} });
      const specs = other.getAllSpecs();
      await other.close();
      return specs;
    });
    await server.close({ timeout: 0 });
    return { published, imported, trusted };
  },
});

interface MCPMessage {
  method: string;
  params: Record<string, unknown>;
  token: string | undefined;
}

function anyMessage(random: Random, { operations }: Served): MCPMessage {
  const operation = random.pick(operations);
  const token = random.pick(tokens);
  const input = anyInput(random, operation.inputSchema);
  const name = random.chance(0.9)
    ? random.pick([`${operation.namespace}_${operation.name}`.replace(/[^\w-]/g, "_"), idOf(operation)])
    : "nothing";
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  const args = isObject ? input : { input };
  const method = random.pick([
    "tools/list",
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/call",
    "prompts/list",
    "server/discover",
  ]);
  return {
    method,
    params:
      method === "tools/call"
        ? { name, arguments: args, ...(random.chance(0.1) && { _meta: { progressToken: 1 } }) }
        : {},
    token,
  };
}

export const mcp = defineKind({
  name: "mcp",
  weight: 7,
  generate: (random) => {
    const served = anyServed(random, 3);
    return {
      ...served,
      mode: random.pick(["auto", "auto", "tools", "search"] as const),
      messages: Array.from({ length: 4 }, () => anyMessage(random, served)),
      generation: random.pick(["modern", "legacy"] as const),
    };
  },
  run: async (one, library) => {
    const { registry } = registryOf(one, library);
    const server = library.serveMCP(registry, { ...(optionsOf(one) as object), mode: one.mode } as never);
    const responses = [];
    const send = async (message: object, token: string | undefined, more: Record<string, string> = {}) => {
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...more,
      };
      return server.fetch(
        new Request("http://localhost/mcp", {
          method: "POST",
          headers,
          body: toJSONText({ jsonrpc: "2.0", ...message }),
        }),
      );
    };
    const version = one.generation === "modern" ? "2026-07-28" : "2025-06-18";
    const session: Record<string, string> = {};
    if (one.generation === "legacy") {
      const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "compare", version: "1.0.0" } };
      const response = await send({ id: 0, method: "initialize", params }, "let-me-in");
      const id = response.headers.get("mcp-session-id");
      if (id !== null) Object.assign(session, { "mcp-session-id": id, "mcp-protocol-version": version });
      responses.push(await readResponse(response));
      await (await send({ method: "notifications/initialized" }, "let-me-in", session)).text();
    }
    for (const [index, { method, params, token }] of one.messages.entries()) {
      responses.push(
        await outcomeOf(async () => {
          if (one.generation === "legacy")
            return readResponse(await send({ id: index + 1, method, params }, token, session));
          const _meta = {
            ...(params["_meta"] as object),
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { name: "compare", version: "1.0.0" },
            "io.modelcontextprotocol/clientCapabilities": {},
          };
          const headers: Record<string, string> = { "mcp-protocol-version": version, "mcp-method": method };
          if (typeof params["name"] === "string") headers["mcp-name"] = toHeader(params["name"]);
          return readResponse(await send({ id: index + 1, method, params: { ...params, _meta } }, token, headers));
        }),
      );
    }
    await server.close({ timeout: 0 });
    return responses;
  },
});

/** Header values are Latin-1. */
function toHeader(name: string): string {
  return /^[\x21-\x7e]*$/.test(name) ? name : `=?base64?${Buffer.from(name).toString("base64")}?=`;
}
