import { copyFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { isBuiltin } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { launchChromium, openPage } from "./launch-chromium.ts";
import { expectedReport } from "./program.ts";

const consumer = inject("consumer");
const chromium = inject("chromium");

/** Code that is injected from outside is free of the page's policy, so the page itself tries what it may do. */
const entry = `import { runProgram } from "./browser-program.ts";
const evaluate = () => { try { return new Function("return true")(); } catch { return false; } };
globalThis.outcome = runProgram().then((report) => ({ report, canEvaluate: evaluate() }));
`;

/** Bundles the program with the packed package for browsers, and returns the imported modules of Node with their importers. */
async function bundleProgram(): Promise<{ files: Map<string, string>; nodeModules: string[] }> {
  copyFileSync(new URL("program.ts", import.meta.url), join(consumer, "browser-program.ts"));
  writeFileSync(join(consumer, "browser.js"), entry);
  const nodeModules: string[] = [];
  const bundle = await rolldown({
    input: "./browser.js",
    cwd: consumer,
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "find-node-modules",
        resolveId(specifier, importer) {
          if (!isBuiltin(specifier)) return undefined;
          nodeModules.push(`${importer} imports ${specifier}`);
          return { id: specifier, external: true };
        },
      },
    ],
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  const files = new Map(output.flatMap((it) => (it.type === "chunk" ? [[`/${it.fileName}`, it.code] as const] : [])));
  return { files, nodeModules };
}

const { files, nodeModules } = await bundleProgram();

test("the bundled root imports no module of Node", () => {
  expect(nodeModules).toEqual([]);
});

describe.skipIf(chromium === null)("in Chromium", () => {
  let server: Server;
  let browser: Browser;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
      const policy = searchParams.get("policy");
      if (policy) response.setHeader("content-security-policy", policy);
      const code = files.get(pathname);
      response.setHeader("content-type", code === undefined ? "text/html" : "text/javascript");
      response.end(code ?? '<!doctype html><script type="module" src="/browser.js"></script>');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    browser = await launchChromium(chromium!);
  });

  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server.close(resolve));
  });

  async function visit(policy: string): Promise<unknown> {
    const { port } = server.address() as AddressInfo;
    const page = await openPage(browser, `http://127.0.0.1:${port}/?policy=${encodeURIComponent(policy)}`);
    const outcome = await page.evaluate("globalThis.outcome");
    await page.close();
    return outcome;
  }

  test("the package runs", async () => {
    expect(await visit("")).toEqual({ report: expectedReport, canEvaluate: true });
  });

  test("the package runs where code generation from strings is forbidden", async () => {
    expect(await visit("default-src 'self'")).toEqual({ report: expectedReport, canEvaluate: false });
  });
});
