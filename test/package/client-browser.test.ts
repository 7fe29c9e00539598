import { existsSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { type OutputChunk, rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { createTaskRegistry } from "../../src/client/testing.ts";
import { serveCalls } from "../../src/index.ts";
import { listen, toNodeHandler } from "../../src/node/index.ts";
import { type Credentials, serveHTTP } from "../../src/serve/http/index.ts";
import { createWebSocketServer } from "../../src/transport/websocket/index.ts";
import { launchChromium, openPage } from "./launch-chromium.ts";

const consumer = inject("consumer");
const chromium = inject("chromium");

/** In bytes, minified and compressed: what a page loads before its first call, and in total over each protocol. */
const maxBytes = { initial: 5_000, http: 8_800, webSocket: 25_000 };

/** What a page does with the packed package. */
const program = `import { connect, isCallError } from "@alkdev/operations/client";

globalThis.run = async (url) => {
  const client = connect(url, { token: "sesame" });
  const created = await client.task.create({ title: "Ship it" });
  const { id } = await client.task.whoami();
  const error = await client.task.create({ title: "taken" }).catch((reason) => reason);
  const taken = client.task.create.isError(error, "TITLE_TAKEN") ? error.details.title : undefined;
  const tool = await client.task.tool().catch(({ code, message }) => ({ code, message }));
  const changes = [];
  for await (const change of client.task.changes()) {
    changes.push(change);
    if (change === 3) break;
  }
  const controller = new AbortController();
  const hanging = client.task.hang({}, { signal: controller.signal }).catch(({ code }) => code);
  await client.task.create({ title: "in between" });
  controller.abort();
  const aborted = await hanging;
  await client.close();
  const closed = await client.task.whoami().catch(({ code }) => code);
  const refused = await connect(url, { token: "other" }).task.whoami().catch(({ code }) => code);
  return { created, id, isCallError: isCallError(error), taken, tool, changes, aborted, closed, refused };
};
`;

/** The smallest program with a client. */
const minimal = 'import { connect } from "@alkdev/operations/client"; globalThis.connect = connect;';

async function bundle(text: string): Promise<OutputChunk[]> {
  writeFileSync(join(consumer, "client-browser.js"), text);
  const build = await rolldown({
    input: "./client-browser.js",
    cwd: consumer,
    platform: "browser",
    logLevel: "silent",
  });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  return output.filter((it) => it.type === "chunk");
}

/** Returns the files that a page loads before its first call, and with `parts` those of its first calls too. */
function findLoaded(
  chunks: OutputChunk[],
  ...parts: Array<"over-http" | "http-events" | "over-websocket">
): OutputChunk[] {
  const loaded = new Set(chunks.filter(({ isEntry, name }) => isEntry || (parts as string[]).includes(name)));
  for (const { imports } of loaded) for (const chunk of chunks) if (imports.includes(chunk.fileName)) loaded.add(chunk);
  return [...loaded];
}

const sumOfSizes = (chunks: OutputChunk[]) =>
  chunks.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);

test.each([
  ["HTTP", "over-http", maxBytes.http],
  ["a WebSocket", "over-websocket", maxBytes.webSocket],
] as const)("a page with a client over %s loads little, no other package and no registry", async (_name, part, max) => {
  const chunks = await bundle(minimal);

  const loaded = findLoaded(chunks, part);

  const modules = loaded.flatMap(({ modules }) => Object.keys(modules)).filter((id) => id.includes("node_modules"));
  expect(modules.filter((id) => !/@alkdev\/operations\/dist\/|\/eventsource-parser\//.test(id))).toEqual([]);
  expect(modules).not.toEqual([]);
  const files = new Set(chunks.map(({ fileName }) => fileName));
  expect(loaded.flatMap(({ imports }) => imports).filter((name) => !files.has(name))).toEqual([]);
  expect(loaded.map(({ code }) => code).join()).not.toContain("Make one with createRegistry()");
  expect(sumOfSizes(loaded)).toBeLessThanOrEqual(max);
});

test("a client can be bundled where the package ws is not installed", async () => {
  expect(existsSync(join(consumer, "node_modules/ws"))).toBe(false);

  const chunks = await bundle(minimal);

  expect(chunks.filter(({ isEntry }) => isEntry)).toHaveLength(1);
  expect(chunks.flatMap(({ imports }) => imports)).not.toContain("ws");
});

test("a page loads HTTP, the WebSocket and the call protocol with the first call that needs them", async () => {
  const chunks = await bundle(minimal);
  const entry = chunks.find(({ isEntry }) => isEntry)!;

  expect(entry.dynamicImports).toHaveLength(3);
  expect(findLoaded(chunks, "over-http").map(({ name }) => name)).not.toContain("over-transport");
  expect(sumOfSizes(findLoaded(chunks))).toBeLessThanOrEqual(maxBytes.initial);
});

test("HTTP and the WebSocket do not load each other", async () => {
  const chunks = await bundle(minimal);
  const parts = (part: "over-http" | "over-websocket") => findLoaded(chunks, part).map(({ name }) => name);

  expect(parts("over-http")).not.toContain("over-websocket");
  expect(parts("over-websocket")).not.toContain("over-http");
});

describe.skipIf(chromium === null)("a client in Chromium", () => {
  const { registry, seen } = createTaskRegistry();
  const identify = (token = "") => (token === "sesame" ? { id: "ali", scopes: [] } : undefined);
  let http: Server;
  let origin: string;
  /** What has to be closed, in reverse order. */
  const opened: Array<() => Promise<unknown>> = [];
  let browser: Browser;
  let chunks: OutputChunk[];
  /** The files that pages have requested. */
  const requested = new Set<string>();

  beforeAll(async () => {
    chunks = await bundle(program);
    const files = new Map(chunks.map((it) => [`/${it.fileName}`, it.code]));
    const api = serveHTTP(registry, { authenticate: ({ token }) => identify(token) });
    opened.push(() => api.close({ timeout: 0 }));
    const handleCall = toNodeHandler(api, { basePath: "/api" });
    http = createServer((request, response) => {
      if (request.url?.startsWith("/api/")) return handleCall(request, response);
      const code = files.get(request.url ?? "/");
      if (code !== undefined) requested.add(request.url!.slice(1));
      response.setHeader("content-type", code === undefined ? "text/html" : "text/javascript");
      response.end(code ?? '<!doctype html><script type="module" src="/client-browser.js"></script>');
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    opened.push(async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    });
    origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const authenticate = ({ token }: Credentials) => identify(token);
    const transport = await createWebSocketServer({ server: http, path: "/calls", authenticate });
    const served = await serveCalls(registry, transport);
    opened.push(() => served.close({ timeout: 0 }));
    browser = await launchChromium(chromium!);
    opened.push(() => browser.close());
  });

  afterAll(async () => {
    for (const close of opened.reverse()) await close();
  });

  /** Serves the operations at another origin, and returns it. */
  async function serveElsewhere(origins: string[]): Promise<string> {
    const server = serveHTTP(registry, { authenticate: ({ token }) => identify(token), cors: { origins } });
    const listener = await listen({ "/": server }, { closeTimeout: 0 });
    opened.push(() => listener.close());
    return listener.url;
  }

  test.each([
    ["over a WebSocket", ["over-websocket"], () => `${origin.replace("http", "ws")}/calls`, "UNAVAILABLE"],
    ["over HTTP", ["over-http", "http-events"], () => `${origin}/api/`, "ACCESS_DENIED"],
    ["over HTTP to another origin", ["over-http", "http-events"], () => serveElsewhere([origin]), "ACCESS_DENIED"],
  ] as const)(
    "a page calls, subscribes, aborts, and recognises declared errors %s",
    async (_, parts, toURL, refused) => {
      const url = await toURL();
      requested.clear();
      const page = await openPage(browser, origin);
      const before = { ...seen };

      const outcome = await page.evaluate(`run(${JSON.stringify(url)})`);

      expect(outcome).toEqual({
        created: { id: expect.any(Number), title: "Ship it" },
        id: "ali",
        isCallError: true,
        taken: "taken",
        tool: { code: "EXECUTION_ERROR", message: "The disk is full." },
        changes: [1, 2, 3],
        aborted: "ABORTED",
        closed: "UNAVAILABLE",
        refused,
      });
      await vi.waitFor(() => expect(seen.aborted).toBe(before.aborted + 2));
      // The tests above measure what a page really loads.
      expect([...requested].sort()).toEqual(
        findLoaded(chunks, ...parts)
          .map(({ fileName }) => fileName)
          .sort(),
      );
    },
  );

  test("a page of an origin that is not allowed cannot call", async () => {
    const url = await serveElsewhere(["http://example.com"]);
    const page = await openPage(browser, origin);
    const { started } = seen;

    const outcome = await page.evaluate(
      `run(${JSON.stringify(url)}).catch(({ code, message }) => ({ code, message }))`,
    );

    expect(outcome).toEqual({ code: "UNAVAILABLE", message: `The server at ${url} could not be reached.` });
    expect(seen.started).toBe(started);
  });
});
