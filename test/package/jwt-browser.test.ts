import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { isBuiltin } from "node:module";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import type { Browser } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";
import { createJWTAuthenticator, createJWTSigner } from "../../src/jwt/index.ts";
import { launchChromium, openPage } from "./launch-chromium.ts";

const consumer = inject("consumer");
const chromium = inject("chromium");

/** What a page does with the packed package. */
const program = `import { createJWTAuthenticator, createJWTSigner } from "@alkdev/operations/jwt";

const options = { key: new Uint8Array(32).fill(7), audience: "workers" };
globalThis.sign = async (identity) => (await createJWTSigner(options))(identity);
globalThis.authenticate = async (token) =>
  (await createJWTAuthenticator(options))(token).catch((error) => error.code);
`;

async function bundleProgram(): Promise<{ code: string; nodeModules: string[] }> {
  writeFileSync(join(consumer, "jwt-browser.js"), program);
  const nodeModules: string[] = [];
  const bundle = await rolldown({
    input: "./jwt-browser.js",
    cwd: consumer,
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "find-modules",
        resolveId(specifier) {
          // An optional peer, which the consumer's folder is without.
          if (specifier === "jose") return resolve(root, "node_modules/jose/dist/webapi/index.js");
          if (!isBuiltin(specifier)) return undefined;
          nodeModules.push(specifier);
          return { id: specifier, external: true };
        },
      },
    ],
  });
  const { output } = await bundle.generate({ format: "iife", codeSplitting: false });
  await bundle.close();
  return { code: output[0].code, nodeModules };
}

const { code, nodeModules } = await bundleProgram();

test("signed identities import no module of Node", () => {
  expect(nodeModules).toEqual([]);
});

describe.skipIf(chromium === null)("signed identities in Chromium", () => {
  const options = { key: new Uint8Array(32).fill(7), audience: "workers" };
  const ada = { id: "ada", scopes: ["admin"] };
  let server: Server;
  let browser: Browser;

  beforeAll(async () => {
    server = createServer((_request, response) => response.end("<!doctype html><title>page</title>"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    browser = await launchChromium(chromium!);
  });

  afterAll(async () => {
    await browser?.close();
    server.close();
  });

  test("a page and a worker on Node accept each other's tokens", async () => {
    const page = await openPage(browser, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await page.addScriptTag({ content: code });
    const authenticate = await createJWTAuthenticator(options);
    const sign = await createJWTSigner(options);
    const inPage = (call: string, ...args: unknown[]) =>
      page.evaluate(`${call}(${args.map((one) => JSON.stringify(one)).join(", ")})`);

    const made = (await inPage("sign", ada)) as string;
    const proven = { ...ada, expiresAt: expect.any(Number) };

    expect(await authenticate(made)).toEqual(proven);
    expect(await inPage("authenticate", await sign(ada))).toEqual(proven);
    expect(await inPage("authenticate", `${made}x`)).toBe("ACCESS_DENIED");
  });
});
