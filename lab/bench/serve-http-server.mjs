// One server of the serve-http bench, in its own process. `process.argv[2]` selects it. It sends its port, and then its
// CPU time and its memory whenever it receives a message.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Type } from "typebox";
import { Compile } from "typebox/compile";

const TaskInput = Type.Object({ title: Type.String(), priority: Type.Integer() });
const Task = Type.Object({ id: Type.String(), title: Type.String(), priority: Type.Integer(), done: Type.Boolean() });
const Tick = Type.Object({ symbol: Type.String(), price: Type.Number() });
const compiledInput = Compile(TaskInput);
const compiledTask = Compile(Task);
const compiledTick = Compile(Tick);

const token = "a-token-of-the-bench-with-enough-characters";
const identity = { id: "ada", scopes: ["task:read", "task:write"] };
const events = 10_000;
const utf8 = new TextDecoder();

/** The function that every server calls. */
async function createTask({ title, priority }) {
  return { id: "task-1", title, priority, done: false };
}

/** The values of every stream. */
async function* generateTicks() {
  for (let count = 0; count < events; count++) yield { symbol: "ALK", price: 100 + (count % 7) };
}

function enforceScope(authorization, scope) {
  const caller = authorization === `Bearer ${token}` ? identity : undefined;
  if (!caller?.scopes.includes(scope)) throw new Error("denied");
}

const servers = {
  ours: async () => {
    const { createRegistry, defineOperation } = await import("../../dist/index.js");
    const { serveHTTP } = await import("../../dist/serve/http/index.js");
    const task = { namespace: "task", inputSchema: TaskInput, outputSchema: Task, handler: createTask };
    const market = { namespace: "market", type: "subscription", inputSchema: Type.Object({}), outputSchema: Tick };
    const operations = [
      defineOperation({ ...task, name: "find", type: "query", accessControl: { requiredScopes: ["task:read"] } }),
      defineOperation({ ...task, name: "create", type: "mutation", accessControl: { requiredScopes: ["task:write"] } }),
      defineOperation({ ...market, name: "ticks", handler: generateTicks }),
      defineOperation({ ...market, name: "silence", handler: waitForEnd }),
    ];
    const authenticate = (credentials) => (credentials.token === token ? identity : undefined);
    await listenTo(serveHTTP(createRegistry({ operations }), { authenticate }));
  },

  "by hand": () =>
    listenTo({ fetch: fetchByHand, handle: handleByHand, isUnauthenticated: false, close: async () => {} }),

  Hono: () => listenWithHono(fetchByHand),

  "node:http": () => listenBare(answerBare),

  Fastify: async () => {
    const { default: fastify } = await import("fastify");
    const app = fastify();
    app.get("/task/find", { schema: { querystring: TaskInput, response: { 200: Task } } }, async (request) => {
      enforceScope(request.headers.authorization, "task:read");
      return createTask(request.query);
    });
    app.post("/task/create", { schema: { body: TaskInput, response: { 200: Task } } }, async (request) => {
      enforceScope(request.headers.authorization, "task:write");
      return createTask(request.body);
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    process.send({ port: app.server.address().port });
  },

  oRPC: async () => {
    const { OpenAPIHandler } = await import("@orpc/openapi/fetch");
    const handler = new OpenAPIHandler(await createORPCRouter());
    await listenWithHono(async (request) => {
      const context = { authorization: request.headers.get("authorization") };
      return (await handler.handle(request, { context })).response;
    });
  },

  "oRPC on node:http": async () => {
    const { OpenAPIHandler } = await import("@orpc/openapi/node");
    const handler = new OpenAPIHandler(await createORPCRouter());
    listenBare((request, response) => {
      const context = { authorization: request.headers.authorization };
      void handler.handle(request, response, { context });
    });
  },

  // Its adapter for fetch needs half the time of its adapter for node:http.
  tRPC: async () => {
    const { initTRPC } = await import("@trpc/server");
    const { fetchRequestHandler } = await import("@trpc/server/adapters/fetch");
    const trpc = initTRPC.context().create();
    const procedure = trpc.procedure.input(toStandardSchema(compiledInput)).output(toStandardSchema(compiledTask));
    const find = procedure.query(({ input, ctx }) => {
      enforceScope(ctx.authorization, "task:read");
      return createTask(input);
    });
    const create = procedure.mutation(({ input, ctx }) => {
      enforceScope(ctx.authorization, "task:write");
      return createTask(input);
    });
    const router = trpc.router({ task: trpc.router({ find, create }) });
    await listenWithHono((req) => {
      const createContext = () => ({ authorization: req.headers.get("authorization") });
      return fetchRequestHandler({ endpoint: "", router, req, createContext });
    });
  },
};

/** Handwritten code for the three operations, with the checks and the response headers of `serveHTTP`. */
async function handleByHand(exchange) {
  if (exchange.path.startsWith("/market/")) return exchange.stream(streamHeaders, writeTicksByHand);
  const isQuery = exchange.method === "GET";
  enforceScope(exchange.headers.get("authorization"), isQuery ? "task:read" : "task:write");
  const readBody = async () => JSON.parse(utf8.decode(await exchange.bytes(1_000_000)));
  const data = await callByHand(isQuery ? parseQuery(exchange.query) : await readBody());
  exchange.reply(200, toHeaders(isQuery), JSON.stringify(data));
}

/** The same for the listener of Hono. */
async function fetchByHand(request) {
  const { url } = request;
  if (url.includes("/market/")) return new Response(streamByHand(), { headers: streamHeaders });
  const isQuery = request.method === "GET";
  enforceScope(request.headers.get("authorization"), isQuery ? "task:read" : "task:write");
  const data = await callByHand(isQuery ? parseQuery(url.slice(url.indexOf("?") + 1)) : await request.json());
  return new Response(JSON.stringify(data), { headers: toHeaders(isQuery) });
}

async function callByHand(input) {
  if (!compiledInput.Check(input)) throw new Error("invalid input");
  const data = await createTask(input);
  if (!compiledTask.Check(data)) throw new Error("invalid output");
  return data;
}

function toHeaders(isQuery) {
  return {
    "content-type": "application/json",
    "operation-id": isQuery ? "task.find" : "task.create",
    "request-id": randomUUID(),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
    "cache-control": "no-store",
  };
}

function parseQuery(query) {
  const parameters = new URLSearchParams(query);
  return { title: parameters.get("title"), priority: Number(parameters.get("priority")) };
}

const streamHeaders = { "content-type": "text/event-stream", "cache-control": "no-store" };

const lastEvent = ": end\nevent: end\nid: end\n\n";

function formatTick(value, seq) {
  if (!compiledTick.Check(value)) throw new Error("invalid output");
  return `id: ${seq}\ndata: ${JSON.stringify(value)}\n\n`;
}

async function writeTicksByHand(write) {
  let seq = 0;
  for await (const value of generateTicks()) await write(formatTick(value, seq++));
  await write(lastEvent);
}

/** Handwritten code for the stream, with backpressure. */
function streamByHand() {
  const encoder = new TextEncoder();
  const ticks = generateTicks();
  let seq = 0;
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await ticks.next();
      controller.enqueue(encoder.encode(done ? lastEvent : formatTick(value, seq++)));
      if (done) controller.close();
    },
  });
}

/** The least that Node itself does, without checks. */
async function answerBare(request, response) {
  if (request.url.startsWith("/market/")) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.flushHeaders();
    if (request.url === "/market/ticks") return writeTicks(response);
    return new Promise((resolve) => response.once("close", resolve)); // as our handler waits for the end
  }
  const { method, url } = request;
  const input = method === "GET" ? parseQuery(url.slice(url.indexOf("?") + 1)) : JSON.parse(await readBody(request));
  const body = JSON.stringify(await createTask(input));
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

async function writeTicks(response) {
  let seq = 0;
  for await (const value of generateTicks()) {
    if (response.write(`id: ${seq++}\ndata: ${JSON.stringify(value)}\n\n`)) continue;
    await new Promise((resolve) => response.once("drain", resolve));
  }
  response.end(lastEvent);
}

function readBody(request) {
  return new Promise((resolve) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => resolve(text));
  });
}

async function* waitForEnd(_input, { signal }) {
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

async function createORPCRouter() {
  const { os } = await import("@orpc/server");
  const procedure = os.$context().output(toStandardSchema(compiledTask));
  const find = procedure
    .route({ method: "GET", path: "/task/find" })
    .input(toStandardSchema(compiledInput, (value) => ({ ...value, priority: Number(value.priority) })))
    .handler(({ input, context }) => {
      enforceScope(context.authorization, "task:read");
      return createTask(input);
    });
  const create = procedure
    .route({ method: "POST", path: "/task/create" })
    .input(toStandardSchema(compiledInput))
    .handler(({ input, context }) => {
      enforceScope(context.authorization, "task:write");
      return createTask(input);
    });
  return { task: { find, create } };
}

/** Wraps the same check that the handwritten code uses, so that libraries are compared, not validators. */
function toStandardSchema(compiled, convert = (value) => value) {
  const validate = (sent) => {
    const value = convert(sent);
    return compiled.Check(value) ? { value } : { issues: [{ message: "invalid" }] };
  };
  return { "~standard": { version: 1, vendor: "bench", validate } };
}

/** Serves a server with the listener of this package. */
async function listenTo(server) {
  const { listen } = await import("../../dist/node/index.js");
  const { port } = await listen({ "/": server });
  process.send({ port });
}

/** Serves a fetch function with Hono's listener, which replaces the global `Request` and `Response` with faster ones. */
async function listenWithHono(fetch) {
  const { getRequestListener } = await import("@hono/node-server");
  listenBare(getRequestListener(fetch));
}

function listenBare(listener) {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
}

process.on("message", (figure) => {
  if (figure === "memory") for (let round = 0; round < 4; round++) globalThis.gc();
  const { user, system } = process.cpuUsage();
  const { heapUsed, external } = process.memoryUsage();
  process.send({ cpuMs: (user + system) / 1_000, bytes: heapUsed + external });
});

await servers[process.argv[2]]();
