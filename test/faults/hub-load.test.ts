import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { expect, test } from "vitest";
import type { HubConfig } from "../../src/hub/index.ts";
import { callAs, idsOf, setUpHubs, shopOperation } from "../../src/hub/testing.ts";

const tests = setUpHubs();
const { start, serve, writeModule, closeLater } = tests;

/** Calls an operation without input and returns status and body, or the code of the network error. */
async function post(agent: Agent, url: string, token: string | undefined): Promise<string> {
  try {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const sending = request(url, { agent, method: "POST", headers }).end("{}");
    const [response] = (await once(sending, "response")) as [IncomingMessage];
    let body = "";
    for await (const chunk of response) body += chunk;
    return `${response.statusCode} ${body}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

test("reloads under load: no call of an unchanged source fails, and an invalid configuration changes nothing", async () => {
  await writeModule("list", "async () => { await new Promise(setImmediate); return 'tasks'; }");
  const { url } = await serve([shopOperation("stock", () => "shop")]);
  const config = (more: HubConfig["sources"]): HubConfig => ({
    sources: {
      tasks: { modules: "operations" },
      api: { openapi: `${url}/openapi.json` },
      tools: { mcp: { url: `${url}/mcp` } },
      peers: { websocket: { url: `${url.replace("http", "ws")}/calls` } },
      ...more,
    },
    serve: { port: 0 },
  });
  const changing = (round: number): HubConfig["sources"] =>
    round % 2 === 0 ? { extra: { openapi: `${url}/openapi.json`, include: [`*${round}`] } } : {};
  const hub = await start(config(changing(0)));
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  closeLater({ close: async () => agent.destroy() });
  const results = new Map<string, number>();
  let isOver = false;
  const callers = ["tasks/list", "api/shop.stock", "tools/shop_stock", "shop/stock"].flatMap((path) =>
    [1, 2].map(async () => {
      while (!isOver) {
        const result = `${path}: ${await post(agent, `${hub.url}/${path}`, hub.token)}`;
        results.set(result, (results.get(result) ?? 0) + 1);
      }
    }),
  );

  for (let round = 1; round <= 10; round++) {
    await hub.reload(config(changing(round)));
    await expect(hub.reload(config({ invalid: {} as never }))).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  }
  isOver = true;
  await Promise.all(callers);

  expect([...results.keys()].sort()).toEqual([
    'api/shop.stock: 200 "shop"',
    'shop/stock: 200 "shop"',
    'tasks/list: 200 "tasks"',
    'tools/shop_stock: 200 "shop"',
  ]);
  expect(hub.sources().map(({ name, status }) => [name, status])).toEqual(
    ["tasks", "api", "tools", "peers", "extra"].map((name) => [name, "ready"]),
  );
});

// A document of 3 MB is parsed, and all of its operations are registered twice.
test("10,000 operations are registered, found, served and reloaded", async () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `op${index}`);
  const operations = [shopOperation("stock", () => 7)];
  const service = await serve(operations);
  const response = { 200: { description: "", content: { "application/json": { schema: {} } } } };
  const document = {
    openapi: "3.1.0",
    info: { title: "", version: "1" },
    servers: [{ url: service.url }],
    paths: Object.fromEntries(
      names.map((name) => [
        `/shop/stock${name === "op9999" ? "" : name}`,
        { get: { operationId: name, responses: response } },
      ]),
    ),
  };
  await writeFile(`${tests.folder}/openapi.json`, JSON.stringify(document));
  const config = { sources: { api: { openapi: "openapi.json", baseUrl: service.url } }, serve: { port: 0 } };
  const hub = await start(config, { startTimeout: Number.POSITIVE_INFINITY });

  expect(hub.sources()).toMatchObject([{ name: "api", status: "ready", operations: 10_000 }]);
  expect([hub.sourceOf("api.op9999"), idsOf(hub).length]).toEqual(["api", 10_000]);
  expect(await callAs(["api"], hub, "api.op9999")).toBe(7);
  const found = await fetch(`${hub.url}/api/op9999`, { headers: { authorization: `Bearer ${hub.token}` } });
  expect([found.status, await found.json()]).toEqual([200, 7]);
  await hub.reload({ ...config, rules: [{ match: "api.op1*", deny: true }] });
  expect(idsOf(hub).length).toBe(10_000 - 1_111);
});
