import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { createRegistry, defineOperation, Type } from "../../src/index.ts";
import { type Listener, listen } from "../../src/node/index.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";
import { serveWebSocket } from "../../src/transport/websocket/index.ts";
import { launchChromium, openPage } from "./launch-chromium.ts";

const chromium = inject("chromium");

/** Operations that ran. */
const runs: string[] = [];

const base = { namespace: "task", inputSchema: Type.Object({}), outputSchema: Type.Unknown() };
const registry = createRegistry({
  operations: [
    defineOperation({
      ...base,
      name: "delete",
      type: "mutation",
      handler: () => {
        runs.push("delete");
      },
    }),
    defineOperation({
      ...base,
      name: "list",
      type: "query",
      handler: () => {
        runs.push("list");
        return "<script>document.title = 'executed'</script>";
      },
    }),
    defineOperation({
      ...base,
      name: "changes",
      type: "subscription",
      handler: async function* () {
        runs.push("changes");
        yield 1;
      },
    }),
  ],
});

/** Runs in a page: sends every kind of request that a page can send, and returns what it could read. */
const attack = `async (http) => {
  const attempt = (send) => send().then((it) => it, () => "failed");
  const status = (path, init) => attempt(async () => (await fetch(http + path, init)).status || "opaque");
  const json = { "content-type": "application/json" };
  const plain = { "content-type": "text/plain" };
  const element = (tag, attribute) => new Promise((resolve) => {
    const it = Object.assign(document.createElement(tag), { onload: () => resolve("loaded"), onerror: () => resolve("failed") });
    it[attribute] = http + "/task/list";
    document.body.append(it);
  });
  return {
    read: await status("/task/list"),
    blindRead: await status("/task/list", { mode: "no-cors" }),
    json: await status("/task/delete", { method: "POST", body: "{}", headers: json }),
    plain: await status("/task/delete", { method: "POST", body: "{}", headers: plain }),
    blindPlain: await status("/task/delete", { method: "POST", body: "{}", mode: "no-cors", headers: plain }),
    script: await element("script", "src"),
    image: await element("img", "src"),
    events: await new Promise((resolve) => {
      const source = new EventSource(http + "/task/changes");
      source.onmessage = () => { source.close(); resolve("received"); };
      source.onerror = () => { source.close(); resolve("failed"); };
    }),
    webSocket: await new Promise((resolve) => {
      const socket = new WebSocket(http.replace("http", "ws") + "/calls", "alkdev.operations.v1");
      socket.onopen = () => { socket.close(); resolve("open"); };
      socket.onerror = () => resolve("failed");
    }),
  };
}`;

describe.skipIf(chromium === null)("web pages in Chromium", () => {
  let foreign: Server;
  let listener: Listener;
  let browser: Browser;
  let port: number;

  beforeAll(async () => {
    foreign = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end("<!doctype html><body></body>");
    });
    await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
    const options = { authenticate: "none", cors: { origins: ["http://friend.localhost:1"] } } as const;
    listener = await listen({ "/": serveHTTP(registry, options), "/calls": serveWebSocket(registry, options) });
    port = listener.port;
    browser = await launchChromium(chromium!, [
      // A name of an attacker that resolves to this machine, as after DNS rebinding.
      "--host-resolver-rules=MAP evil.test 127.0.0.1",
      // Other browsers do not keep pages from sending requests to this machine.
      "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessChecks",
    ]);
  });

  afterAll(async () => {
    await browser?.close();
    await listener?.close();
    foreign?.closeAllConnections();
    await new Promise((resolve) => foreign.close(resolve));
  });

  beforeEach(() => {
    runs.length = 0;
  });

  /** Opens an empty page of an origin without contacting its server. */
  async function openPageOf(origin: string): Promise<Page> {
    const page = await browser.newPage();
    await page.route(`${origin}/page`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html><body></body>" }),
    );
    await page.goto(`${origin}/page`);
    return page;
  }

  const attackFrom = (page: Page, target: string) => page.evaluate(`(${attack})(${JSON.stringify(target)})`);

  const refused = {
    read: "failed",
    blindRead: "opaque",
    json: "failed",
    plain: "failed",
    blindPlain: "opaque",
    script: "failed",
    image: "failed",
    events: "failed",
    webSocket: "failed",
  };

  test.each([
    ["another site", (own: number) => `http://127.0.0.1:${own}`],
    ["another port of the same machine", (own: number) => `http://localhost:${own}`],
  ])("a page of %s runs nothing and reads nothing", async (_name, toOrigin) => {
    const { port: own } = foreign.address() as AddressInfo;
    const page = await openPage(browser, toOrigin(own));
    expect(await attackFrom(page, `http://localhost:${port}`)).toEqual(refused);
    expect(runs).toEqual([]);
    await page.close();
  });

  test("a page whose name was made to resolve to this machine runs nothing and reads only refusals", async () => {
    const page = await openPageOf(`http://evil.test:${port}`);
    expect(await attackFrom(page, `http://evil.test:${port}`)).toEqual({
      ...refused,
      read: 403,
      blindRead: 403,
      json: 403,
      plain: 403,
      blindPlain: 403,
    });
    expect(runs).toEqual([]);
    await page.close();
  });

  test("a form of another site runs nothing", async () => {
    const { port: own } = foreign.address() as AddressInfo;
    const page = await openPage(browser, `http://127.0.0.1:${own}`);
    const responded = page.waitForResponse((response) => response.url().endsWith("/task/delete"));
    await page.evaluate(`document.body.innerHTML = \`<form method="post" enctype="text/plain"
      action="http://localhost:${port}/task/delete"><input name='{"a' value='":1}'></form>\`;
      document.forms[0].submit();`);
    expect([(await responded).status(), runs]).toEqual([403, []]);
    await page.close();
  });

  test("the server's own page and a page that cors allows may call", async () => {
    const allowed = { ...refused, read: 200, json: 204, plain: 415, events: "received", webSocket: "open" };
    const own = await openPageOf(`http://localhost:${port}`);
    expect(await attackFrom(own, `http://localhost:${port}`)).toEqual({
      ...allowed,
      blindRead: 200,
      blindPlain: 415,
    });
    await own.close();
    const friend = await openPageOf("http://friend.localhost:1");
    expect(await attackFrom(friend, `http://localhost:${port}`)).toEqual(allowed);
    await friend.close();
    expect(runs.filter((name) => name === "delete")).toHaveLength(2);
  });

  test("a response that is opened as a page runs no script and has no origin", async () => {
    const page = await openPage(browser, `http://localhost:${port}/task/list`);
    const seen = await page.evaluate("({ origin: self.origin, type: document.contentType, title: document.title })");
    expect(seen).toEqual({ origin: "null", type: "application/json", title: "" });
    await page.close();
  });
});
