import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callAs, idsOf, setUpHubs, shopOperation, whenState } from "./testing.ts";

const tests = setUpHubs();
const { start, serve, writeModule } = tests;

const accessControl = { requiredScopes: [] };

/** Serves `<id>` for each id. The operations add their inputs to `received`. */
async function servePeer(...ids: string[]) {
  const received: unknown[] = [];
  const operations = ids.map((id) => {
    const [namespace, name] = id.split(".") as [string, string];
    const handler = (input: unknown) => {
      received.push(input);
      return `peer: ${id}`;
    };
    return { ...shopOperation(name, handler, { namespace }), inputSchema: {} };
  });
  const { url } = await serve(operations);
  const peers = { websocket: { url: `${url.replace("http", "ws")}/calls` }, accessControl };
  return { url, peers, received };
}

const callTasks = `async (input, { env }) => (await env.tasks.create(input)).data`;

test("a peer does not serve the operations of modules that restart, fail or were removed", async () => {
  await writeModule("create", '() => "module"');
  const { peers, received } = await servePeer("tasks.create", "tasks.more", "crew.list");
  const sources = { modules: { modules: "operations", accessControl }, peers };
  const hub = await start({ sources });
  const callAll = () => Promise.all(["tasks.create", "tasks.more", "crew.list"].map((id) => callAs([], hub, id)));

  const answers = [await callAll()];
  const broken = { ...sources, modules: { modules: "missing", accessControl } };
  await hub.reload({ sources: broken });
  answers.push(await callAll());
  await hub.reload({ sources: { ...broken, modules: { modules: "missing too", accessControl } } });
  answers.push(await callAll());
  await hub.reload({ sources: { peers } });
  answers.push(await callAll());

  expect(answers).toEqual([
    ["module", "OPERATION_NOT_FOUND", "peer: crew.list"],
    ["UNAVAILABLE", "OPERATION_NOT_FOUND", "peer: crew.list"],
    ["UNAVAILABLE", "OPERATION_NOT_FOUND", "peer: crew.list"],
    ["OPERATION_NOT_FOUND", "OPERATION_NOT_FOUND", "peer: crew.list"],
  ]);
  expect(received).toHaveLength(4);
});

test("a nested call does not reach a peer in the place of modules that have never loaded", async () => {
  await writeModule("place", callTasks, "orders", "orders");
  const { peers, received } = await servePeer("tasks.create");
  const sources = {
    orders: { modules: "orders", accessControl },
    tasks: { modules: "later", accessControl },
    peers,
  };
  const hub = await start({ sources });
  const answers = [await callAs([], hub, "orders.place", { secret: 1 }), await callAs([], hub, "tasks.create")];

  await writeModule("create", '() => "module"', "complete");
  await rename(join(tests.folder, "complete"), join(tests.folder, "later"));
  await whenState(hub, "tasks", { status: "ready" });
  answers.push(await callAs([], hub, "orders.place", { secret: 2 }), await callAs([], hub, "tasks.create"));

  expect(answers).toEqual(["UNAVAILABLE", "peer: tasks.create", "module", "module"]);
  expect(received).toEqual([{}]);
});

test("a nested call reaches a peer in the namespace that the configuration assigns, and if all modules have loaded", async () => {
  await writeModule("place", "async (input, { env }) => (await env.far.create(input)).data", "orders", "orders");
  const { peers } = await servePeer("tasks.create");
  const sources = {
    orders: { modules: "orders", accessControl },
    tasks: { modules: "later", accessControl },
    peers: { ...peers, namespace: "far" },
  };
  const place = async (hub: Awaited<ReturnType<typeof start>>) => callAs([], hub, "orders.place");
  const assigned = await place(await start({ sources }));
  await writeModule("place", callTasks, "orders", "orders");
  const { tasks: _, ...loaded } = { ...sources, peers };

  expect([assigned, await place(await start({ sources: loaded }))]).toEqual([
    "peer: tasks.create",
    "peer: tasks.create",
  ]);
});

test("a peer does not serve the operations of a server that an editor file disables", async () => {
  const mcpServers = { docs: { command: "never", disabled: true } };
  await writeFile(join(tests.folder, "mcp.json"), JSON.stringify({ mcpServers }));
  const { peers } = await servePeer("docs.search");
  const hub = await start({ sources: { mine: { mcpConfig: { file: "mcp.json", servers: ["docs"] } }, peers } });

  expect(await callAs([], hub, "docs.search")).toBe("UNAVAILABLE");
});

test("a server with trust cannot use hub, or the namespaces of other sources", async () => {
  await writeModule("create", '() => "module"');
  const { url } = await servePeer("hub.extra", "tasks.create", "tasks.more", "late.list", "crew.list");
  const sources = {
    trusted: { openapi: `${url}/openapi.json`, trust: "operations" as const, accessControl },
    tools: { mcp: { url: `${url}/mcp`, trust: "operations" as const }, accessControl, namespace: "far" },
    late: { openapi: `${url}/missing.json` },
    tasks: { modules: "operations", accessControl },
  };
  const hub = await start({ sources });

  const ids = idsOf(hub).filter((id) => !id.startsWith("far."));
  expect([ids.sort(), hub.registry.has("hub.extra")]).toEqual([["crew.list", "tasks.create"], false]);
  await hub.reload({ sources: { trusted: sources.trusted } });
  expect([await callAs([], hub, "tasks.create"), await callAs([], hub, "crew.list")]).toEqual([
    "OPERATION_NOT_FOUND",
    "peer: crew.list",
  ]);
});
