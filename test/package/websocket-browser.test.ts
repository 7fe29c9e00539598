import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { startServer, type TestServer } from "../../src/transport/websocket/testing.ts";
import { launchChromium, openPage } from "./launch-chromium.ts";

const consumer = inject("consumer");
const chromium = inject("chromium");

/** What a page does with the packed package. */
const program = `import { PendingRequestMap } from "@alkdev/operations";
import { createWebSocketTransport } from "@alkdev/operations/transport-websocket";

globalThis.run = async (url) => {
  const calls = new PendingRequestMap(await createWebSocketTransport(url, { token: "sesame-ä" }));
  const echoed = await calls.call("test.echo", { when: new Date(5), big: 2n ** 70n, bytes: new Uint8Array([1, 255]) });
  const { data: identity } = await calls.call("test.whoami", {});
  const counted = [];
  for await (const { data } of calls.subscribe("test.count", { to: 5 })) counted.push(data);
  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => calls.call("test.echo", n)));
  const missing = await calls.call("test.nothing", {}).catch((error) => error.code);
  await calls.close();
  const refused = await createWebSocketTransport(url, { token: "wrong" }).catch((error) => error.code);
  return {
    time: echoed.data.when.getTime(),
    big: String(echoed.data.big),
    bytes: [...echoed.data.bytes],
    identity,
    counted,
    answered: answers.filter(({ data }, n) => data === n).length,
    missing,
    refused,
  };
};
`;

async function bundleProgram(): Promise<string> {
  writeFileSync(join(consumer, "websocket-browser.js"), program);
  const bundle = await rolldown({
    input: "./websocket-browser.js",
    cwd: consumer,
    platform: "browser",
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "iife", codeSplitting: false });
  await bundle.close();
  return output[0].code;
}

describe.skipIf(chromium === null)("WebSockets in Chromium", () => {
  let server: TestServer;
  let browser: Browser;

  beforeAll(async () => {
    server = await startServer({
      authenticate: ({ token }) => (token === "sesame-ä" ? { id: "ali", scopes: [] } : undefined),
    });
    browser = await launchChromium(chromium!);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test("a page calls and subscribes", async () => {
    // The server's own page, so that its origin is one that the server welcomes.
    const page = await openPage(browser, server.url.replace("ws:", "http:"));
    await page.addScriptTag({ content: await bundleProgram() });

    const outcome = await page.evaluate(`run(${JSON.stringify(server.url)})`);

    expect(outcome).toEqual({
      time: 5,
      big: "1180591620717411303424",
      bytes: [1, 255],
      identity: { id: "ali", scopes: [] },
      counted: [1, 2, 3, 4, 5],
      answered: 200,
      missing: "OPERATION_NOT_FOUND",
      refused: "UNAVAILABLE",
    });
    await vi.waitFor(() => expect(server.transport.connections).toBe(0));
  });

  test("a page of another origin is refused", async () => {
    const page = await openPage(browser, "data:text/html,<title>foreign</title>");
    await page.addScriptTag({ content: await bundleProgram() });

    const refused = page.evaluate(`run(${JSON.stringify(server.url)}).catch((error) => error.code)`);

    expect(await refused).toBe("UNAVAILABLE");
  });
});
