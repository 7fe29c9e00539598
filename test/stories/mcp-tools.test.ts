import {
  type CallError,
  type ChangeEvent,
  defineOperation,
  isResponseEnvelope,
  OperationRegistry,
  type Progress,
  Type,
  unwrap,
} from "@alkdev/operations";
import { closeMCPClient, createMCPClient, type MCPClientConfig, MCPClientLoader } from "@alkdev/operations/from-mcp";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { bundleProgram } from "../../src/transport/testing.ts";
import { resetShop, serveShop } from "./mcp/shop-server.ts";

const program = await bundleProgram(new URL("./mcp/shop-stdio.ts", import.meta.url));
const stdio: MCPClientConfig = { command: process.execPath, args: [program] };
let http: Awaited<ReturnType<typeof serveShop>>;

beforeAll(async () => {
  http = await serveShop();
});
afterAll(() => http.close());
beforeEach(() => resetShop());

const kinds: Array<[name: string, config: () => MCPClientConfig]> = [
  ["stdio, legacy", () => stdio],
  ["stdio, modern", () => ({ ...stdio, protocol: "2026-07-28" })],
  ["HTTP, modern", () => ({ url: http.url })],
  ["HTTP, legacy", () => ({ url: http.url, protocol: "legacy" })],
];

async function open(config: MCPClientConfig) {
  const client = await createMCPClient("shop", { onReport: () => {}, ...config });
  const registry = new OperationRegistry();
  await registry.follow(client);
  onTestFinished(() => registry.close());
  return { client, registry };
}

/** Waits until a registry has emitted the expected number of changes. */
function changesOf(registry: OperationRegistry, count: number): Promise<string[]> {
  return new Promise((resolve) => {
    const seen: string[] = [];
    const stop = registry.on("change", ({ kind, operationId }: ChangeEvent) => {
      if (seen.push(`${kind} ${operationId}`) < count) return;
      stop();
      resolve(seen.sort());
    });
  });
}

async function failureOf(call: Promise<unknown>): Promise<CallError> {
  return call.then(
    (value) => Promise.reject(new Error(`Expected a failure, got ${JSON.stringify(value)}`)),
    (error: CallError) => error,
  );
}

describe.each(kinds)("over %s", (kind, config) => {
  test("tools are operations, return envelopes and compose with local ones", async () => {
    const { registry } = await open(config());
    registry.register(
      defineOperation({
        namespace: "basket",
        name: "total",
        version: "1.0.0",
        type: "query",
        description: "Adds up",
        inputSchema: Type.Object({ articles: Type.Array(Type.String()) }),
        outputSchema: Type.Object({ total: Type.Number() }),
        accessControl: { requiredScopes: [] },
        handler: async ({ articles }, { env }) => {
          const prices = await Promise.all(articles.map((article) => env["shop"]!["price"]!({ article })));
          return { total: prices.reduce((sum, price) => sum + (unwrap(price) as { price: number }).price, 0) };
        },
      }),
    );

    const envelope = await registry.execute("shop.price", { article: "tea" });
    const { data } = await registry.execute("basket.total", { articles: ["tea", "milk", "salt"] });

    expect(envelope).toEqual({
      data: { price: 2, currency: "EUR" },
      meta: {
        source: "mcp",
        isError: false,
        content: [{ type: "text", text: "tea costs 2" }],
        structuredContent: { price: 2, currency: "EUR" },
        _meta: expect.objectContaining({ "shop/stock": 7 }),
      },
    });
    expect(data).toEqual({ total: 6 });
    expect(registry.getSpec("shop.price")).toMatchObject({
      namespace: "shop",
      name: "price",
      version: "4.5.6",
      type: "mutation",
      title: "Price",
      accessControl: { requiredScopes: [] },
    });
  });

  test("every shape of result is data", async () => {
    const { registry } = await open(config());

    expect(await registry.execute("shop.drifting", {})).toMatchObject({
      data: { price: 2.5 },
      meta: {
        structuredContent: { price: "2.5", secret: "s" },
        drift: [
          { path: "/price", kind: "converted" },
          { path: "/secret", kind: "stripped" },
          { path: "/currency", kind: "filled" },
        ],
      },
    });
    expect(await registry.execute("shop.wrong", {})).toMatchObject({
      data: { price: "much" },
      meta: { drift: expect.arrayContaining([{ path: "/price", kind: "mismatch", message: expect.any(String) }]) },
    });
    expect((await registry.execute("shop.list", {})).data).toEqual(["tea", "milk"]);
    expect((await registry.execute("shop.as_text", {})).data).toEqual({ price: 3, currency: "EUR" });
    const soldOut = await registry.execute("shop.sold_out", {});
    expect(soldOut).toEqual({
      data: [{ type: "text", text: "sold out" }],
      meta: expect.objectContaining({
        source: "mcp",
        isError: true,
        content: [{ type: "text", text: "sold out" }],
      }),
    });
    expect(soldOut.meta).not.toHaveProperty("drift");
    await expect(registry.client()["shop"]!["sold_out"]!({})).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
  });

  test("failures have different codes", async () => {
    const { registry, client } = await open(config());

    expect(await failureOf(registry.execute("shop.price", {}))).toMatchObject({ code: "VALIDATION_ERROR" });
    expect(await failureOf(registry.execute("shop.picky", {}))).toMatchObject({
      code: "VALIDATION_ERROR",
      message: '"shop.picky" was refused: not this',
      details: { operationId: "shop.picky", mcp: { code: -32602, data: { field: "article" } } },
      mayHaveRun: false,
    });
    expect(await failureOf(registry.execute("shop.broken", {}))).toMatchObject({
      code: "EXECUTION_ERROR",
      message: expect.stringContaining("out of order"),
      mayHaveRun: true,
    });
    expect(await failureOf(registry.execute("shop.missing", {}))).toMatchObject({ code: "OPERATION_NOT_FOUND" });
    await closeMCPClient(client);
    expect(await failureOf(registry.execute("shop.price", { article: "tea" }))).toMatchObject({
      code: "UNAVAILABLE",
      mayHaveRun: false,
    });
  });

  test("a signal and a deadline end calls even while progress arrives", async () => {
    const { registry } = await open(config());
    const controller = new AbortController();
    const started = new Promise<void>((resolve) => {
      registry.execute("shop.wait", {}, { signal: controller.signal, onProgress: () => resolve() }).catch(() => {});
    });

    // The stateless legacy HTTP of the SDK reports nothing about a running call.
    if (kind !== "HTTP, legacy") await started;
    const aborted = registry.execute("shop.wait", {}, { signal: controller.signal });
    controller.abort(new Error("enough"));
    const late = registry.execute("shop.wait", {}, { deadline: Date.now() + 1_000 });

    expect(await failureOf(aborted)).toMatchObject({ code: "ABORTED", cause: controller.signal.reason });
    expect(await failureOf(late)).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
    if (kind === "HTTP, legacy") return;
    await expect
      .poll(async () => (await registry.execute<{ count: number }>("shop.cancelled", {})).data.count)
      .toBeGreaterThanOrEqual(2);
  });

  test("progress reaches the caller", async () => {
    const { registry } = await open(config());
    const heard: Progress[] = [];

    const { data } = await registry.execute("shop.count", {}, { onProgress: (progress) => heard.push(progress) });

    expect(data).toEqual([{ type: "text", text: "counted" }]);
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  });

  test("resources and prompts are operations when they are enabled", async () => {
    const { registry } = await open({ ...config(), resources: true, prompts: true });

    expect((await registry.execute("shop.list_resources", {})).data).toEqual({
      resources: [{ uri: "shop:tea", name: "tea" }],
    });
    expect((await registry.execute("shop.read_resource", { uri: "shop:tea" })).data).toEqual({
      contents: [{ uri: "shop:tea", mimeType: "text/plain", text: "green" }],
    });
    expect(await failureOf(registry.execute("shop.read_resource", { uri: "shop:no" }))).toMatchObject({
      code: "VALIDATION_ERROR",
    });
    expect((await registry.execute("shop.get_prompt", { name: "greet", arguments: { name: "Ada" } })).data).toEqual({
      messages: [{ role: "user", content: { type: "text", text: "Hello Ada" } }],
    });
  });
});

describe.each(kinds.filter(([name]) => name !== "HTTP, legacy"))("with a link back, over %s", (_, config) => {
  test("tools that are added, changed and removed are updated in the registry", async () => {
    const { registry } = await open(config());
    const changes = changesOf(registry, 3);

    await registry.execute("shop.open_shelf", {});

    expect(await changes).toEqual(["added shop.shelf", "changed shop.sold_out", "removed shop.picky"]);
    expect((await registry.execute("shop.shelf", {})).data).toEqual([{ type: "text", text: "shelf" }]);
    expect(registry.getSpec("shop.sold_out")?.description).toBe("Reports an error, still");
  });

  test("a pinned server's changed tools cannot be called until they are approved", async () => {
    const { registry, client } = await open({ ...config(), pinned: true });
    const changes = changesOf(registry, 2);

    await registry.execute("shop.open_shelf", {});

    expect(await changes).toEqual(["changed shop.sold_out", "removed shop.picky"]);
    expect(registry.getSpec("shop.sold_out")?.description).toBe("Reports an error");
    expect(await failureOf(registry.execute("shop.sold_out", {}))).toMatchObject({
      code: "UNAVAILABLE",
      mayHaveRun: false,
    });
    client.approve("shop.sold_out", "shop.shelf");
    expect((await registry.execute("shop.sold_out", {})).meta).toMatchObject({ isError: true });
    expect(registry.has("shop.shelf")).toBe(true);
  });

  test("questions go to the handler in the configuration", async () => {
    const asked: unknown[] = [];
    const { registry } = await open({
      ...config(),
      onElicit: ({ server, message, mode }) => {
        asked.push({ server, message, mode });
        return { action: "accept", content: { amount: 3 } };
      },
    });

    const { data } = await registry.execute("shop.order", {});

    expect(data).toEqual([{ type: "text", text: 'accept {"amount":3}' }]);
    expect(asked).toEqual([{ server: "shop", message: "How many?", mode: "form" }]);
  });
});

describe.each(kinds.filter(([name]) => name.endsWith("modern")))("without a handler, over %s", (_, config) => {
  test("a question is INPUT_REQUIRED", async () => {
    const { registry } = await open(config());

    expect(await failureOf(registry.execute("shop.order", {}))).toMatchObject({
      code: "INPUT_REQUIRED",
      message: expect.stringContaining("onElicit"),
    });
  });
});

test("a program that ends during a call fails it immediately and is started again", async () => {
  const { registry, client } = await open(stdio);

  const [crashed, other] = await Promise.all([
    failureOf(registry.execute("shop.crash", {})),
    failureOf(registry.execute("shop.wait", {})),
  ]);

  expect(crashed).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
  expect(other).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
  expect((await registry.execute("shop.price", { article: "tea" })).data).toEqual({ price: 2, currency: "EUR" });
  expect(client.state).toMatchObject({
    status: "ready",
    restarts: 1,
    stderr: expect.arrayContaining(["the shop is open"]),
  });
});

test("a tool that was removed without a notification is not found, and is removed from the registry", async () => {
  const { registry } = await open({ url: http.url, protocol: "legacy" });
  await registry.execute("shop.open_shelf", {});

  expect(await failureOf(registry.execute("shop.picky", {}))).toMatchObject({
    code: "OPERATION_NOT_FOUND",
    mayHaveRun: false,
  });
  expect(registry.has("shop.picky")).toBe(false);
  expect(registry.has("shop.shelf")).toBe(true);
});

test("many servers are loaded at a time, registered, and leave no process behind", async () => {
  const registry = new OperationRegistry();
  const loader = new MCPClientLoader();
  const missing = { command: "no-such-program-anywhere" };
  const fails = { command: process.execPath, args: ["-e", "console.error('no licence'); process.exit(1)"] };
  const quiet = { onReport: () => {} };

  const wrappers = await loader.load({
    local: { ...stdio, ...quiet },
    remote: { url: http.url, ...quiet },
    missing,
    fails,
  });
  await loader.registerAll(registry);
  registry.register(
    defineOperation({
      namespace: "market",
      name: "cheapest",
      version: "1.0.0",
      type: "query",
      description: "Compares two shops",
      inputSchema: Type.Object({ article: Type.String() }),
      outputSchema: Type.Object({ prices: Type.Array(Type.Number()) }),
      accessControl: { requiredScopes: [] },
      handler: async ({ article }, { env }) => {
        const answers = await Promise.all([
          env["local"]!["price"]!({ article }),
          env["remote"]!["price"]!({ article }),
        ]);
        return { prices: answers.map((answer) => (unwrap(answer) as { price: number }).price) };
      },
    }),
  );

  expect(wrappers.map(({ name }) => name)).toEqual(["local", "remote"]);
  expect(loader.getStates()).toMatchObject({
    local: { status: "ready", stderr: ["the shop is open"] },
    remote: { status: "ready", protocol: { version: "2026-07-28" } },
    missing: { status: "failed", error: { code: "UNAVAILABLE", mayHaveRun: false } },
    fails: { status: "failed", stderr: ["no licence"] },
  });
  expect((await registry.execute("market.cheapest", { article: "tea" })).data).toEqual({ prices: [2, 2] });
  const { pid } = (await registry.execute<{ pid: number }>("local.pid", {})).data;

  await loader.closeAll();

  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(await failureOf(registry.execute("local.price", { article: "tea" }))).toMatchObject({ code: "UNAVAILABLE" });
  expect(loader.getStates()).toEqual({});
});

describe("the adapter", () => {
  test("handlers return envelopes when they are called without a registry", async () => {
    const wrapper = await createMCPClient("shop", { url: http.url, onReport: () => {} });
    onTestFinished(() => closeMCPClient(wrapper));
    const context = {
      requestId: "1",
      metadata: {},
      env: {},
      call: () => Promise.reject(new Error("not called")),
      errors: {},
      signal: new AbortController().signal,
      progress() {},
    };
    const call = (name: string) =>
      wrapper.tools.find((tool) => tool.name === name)!.handler({ article: "tea" }, context);

    const price = await call("price");
    expect(isResponseEnvelope(price)).toBe(true);
    expect(price).toMatchObject({ data: { price: 2, currency: "EUR" }, meta: { source: "mcp", isError: false } });
    expect(await call("sold_out")).toMatchObject({ meta: { isError: true, content: [{ text: "sold out" }] } });
    await expect(call("broken")).rejects.toMatchObject({ name: "CallError", code: "EXECUTION_ERROR" });
  });

  test("a tool without output schema has unknown output, and blocks as data", async () => {
    const { registry } = await open({ url: http.url });

    expect(registry.getSpec("shop.count")?.outputSchema).toEqual(Type.Unknown());
    const { data, meta } = await registry.execute("shop.count", {});
    expect(data).toBe((meta as { content: unknown }).content);
  });
});
