import { OperationRegistry, type SourceReport } from "@alkdev/operations";
import { type MCPClientConfig, mcpSource } from "@alkdev/operations/from-mcp";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { bundleProgram } from "../../src/transport/testing.ts";
import { serveShop } from "./mcp/shop-server.ts";

const program = await bundleProgram(new URL("./mcp/shop-stdio.ts", import.meta.url));
let http: Awaited<ReturnType<typeof serveShop>>;

beforeAll(async () => {
  http = await serveShop();
});
afterAll(() => http.close());

const places: Array<[name: string, place: () => MCPClientConfig]> = [
  ["a program", () => ({ command: process.execPath, args: [program] })],
  ["a server over HTTP", () => ({ url: http.url })],
];

test.each(places)("a registry follows %s with one line", async (_name, place) => {
  const registry = new OperationRegistry();
  onTestFinished(() => registry.close());
  const source = mcpSource({ name: "shop", ...place() });

  const following = await registry.follow(source, {
    include: ["store.cost"],
    namespace: "store",
    rename: { "shop.price": "cost" },
    accessControl: { requiredScopes: ["buy"] },
  });
  const { data, meta } = await registry.execute(
    "store.cost",
    { article: "tea" },
    { identity: { id: "ada", scopes: ["buy"] } },
  );
  const denied = await registry.execute("store.cost", { article: "tea" }).catch(({ code }) => code);

  expect(data).toMatchObject({ price: expect.any(Number) });
  expect([meta.source, denied, source.client?.state.status]).toEqual(["mcp", "ACCESS_DENIED", "ready"]);
  expect(registry.list().map(({ name }) => name)).toEqual(["cost"]);
  await following.close();
  expect([registry.list(), source.client?.state.status]).toEqual([[], "closed"]);
});

test.each(places)("%s is not started by a source that was closed", async (_name, place) => {
  const source = mcpSource({ name: "shop", ...place() });
  await source.close();

  for (const _attempt of [1, 2]) {
    await expect(source.load()).rejects.toMatchObject({ code: "UNAVAILABLE", message: "mcp:shop is closed." });
  }
  expect(source.client).toBeUndefined();
});

test("a pinned server is approved by the ids of its operations", async () => {
  await using registry = new OperationRegistry();
  const source = mcpSource({ name: "shop", ...places[0]![1](), pinned: { "shop.price": "an earlier version" } });
  const approve =
    (...ids: string[]) =>
    () =>
      source.approve(...ids);
  expect(approve("shop.price")).toThrow(
    expect.objectContaining({
      code: "UNAVAILABLE",
      message: "mcp:shop is not connected. Follow it with registry.follow() before you approve its tools.",
    }),
  );
  expect([source.held, await source.hashes()]).toEqual([[], {}]);

  await registry.follow(source, { namespace: "store" });
  const hashes = await source.hashes();

  expect(Object.keys(hashes)).toContain("shop.price");
  expect(source.held).toContainEqual({
    operationId: "shop.price",
    before: "an earlier version",
    after: hashes["shop.price"],
  });
  expect(registry.list()).toEqual([]);
  expect(approve("price")).toThrow('The source mcp:shop has no operation "price" to approve.');
  source.approve("shop.price");
  expect(registry.list().map(({ name }) => name)).toEqual(["price"]);
  expect(await source.hashes()).toEqual(hashes);
});

/** A program that lists these tools, and can do nothing else. */
function listing(tools: object[]): MCPClientConfig {
  const source = `
    const results = {
      initialize: (params) => ({
        protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" },
      }),
      "tools/list": () => ({ tools: ${JSON.stringify(tools)} }),
    };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method](params) }));
    });`;
  return { command: process.execPath, args: ["-e", source], restart: false };
}

const tools = [{ name: "good", inputSchema: { type: "object" } }, { name: "bad" }];
const skipped = { where: 'tool "bad"', reason: "It has no input schema." };

test("a tool that is skipped is visible on the console until logging is configured", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  await using registry = new OperationRegistry();

  await registry.follow(mcpSource({ name: "visible", ...listing(tools) }));

  expect(warn.mock.calls.map(([text]) => text)).toEqual([
    `[alkdev.operations.from.mcp] visible: ${skipped.where} was skipped. ${skipped.reason}`,
  ]);
});

test("onReport of follow receives it instead", async () => {
  const reports: SourceReport[] = [];
  await using registry = new OperationRegistry();

  await registry.follow(mcpSource({ name: "shop", ...listing(tools) }), {
    onReport: (report) => reports.push(report),
  });

  expect(reports).toEqual([{ imported: ["shop.good"], skipped: [skipped], warnings: [] }]);
});

test("tools keep the order of the server", async () => {
  const names = ["zeta", "alpha", "10", "2", "beta"];
  await using registry = new OperationRegistry();

  await registry.follow(
    mcpSource({ name: "shop", ...listing(names.map((name) => ({ name, inputSchema: { type: "object" } }))) }),
  );

  expect(registry.list().map(({ name }) => name)).toEqual(names);
});

test("follow rejects if the server cannot be started, leaves nothing open, and can be repeated", async () => {
  await using registry = new OperationRegistry();
  const source = mcpSource({ name: "gone", url: "http://127.0.0.1:1/secret-path" });

  for (const _attempt of [1, 2]) {
    await expect(registry.follow(source)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/^The MCP server "gone" cannot be reached at http:\/\/127\.0\.0\.1:1(?!\/)/),
    });
  }
  expect(registry.list()).toEqual([]);
});

test("closing the registry ends a server that is being started", async () => {
  const registry = new OperationRegistry();
  const silent = { command: process.execPath, args: ["-e", "process.stdin.resume()"] };

  const following = registry.follow(mcpSource({ name: "silent", ...silent })).catch(({ code }) => code);
  await registry.close();

  expect(["ABORTED", "UNAVAILABLE"]).toContain(await following);
});

test.each([{}, { name: "" }, undefined])("a server without a name is refused: %j", (config) => {
  expect(() => mcpSource(config as never)).toThrow(
    expect.objectContaining({
      code: "VALIDATION_ERROR",
      message:
        'mcpSource() needs the name of the server, such as mcpSource({ name: "files", command: "npx", args: […] }).',
    }),
  );
});
