import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { inject } from "vitest";
import { root } from "../../scripts/subpaths.ts";
import { type RunningHub, startProgram, watch } from "../../test/package/console/support.ts";
import { linkPackages, linkPeers } from "../../test/package/install.ts";
import { launchChromium } from "../../test/package/launch-chromium.ts";
import type {} from "../../test/package/setup.ts"; // the types of what it provides

/** Folder with the packed package and what a person who uses MCP installs beside it. */
export const consumer = inject("consumer");
linkPeers(consumer);
linkPackages(consumer, ["zod", "tsx"]);

const screenshots = join(root, ".cache/console");
mkdirSync(screenshots, { recursive: true });

/** Options of the program in `hub/start.mjs`. */
export interface HubOptions {
  port?: number;
  /** Adds so many operations to the HTTP API. */
  count?: number;
  tokens?: { hash: string; identity: { id: string; scopes: string[]; resources?: Record<string, string[]> } }[];
  history?: { file: string };
  /** Without sources. */
  isBare?: boolean;
  console?: boolean;
  /** Adds an operation for each: `made.op0`, and so on. */
  schemas?: unknown[];
}

/** Starts the hub of the checks from the installed package, in a folder of its own. */
export async function startHub(options: HubOptions = {}): Promise<RunningHub> {
  const folder = mkdtempSync(join(consumer, "hub-"));
  cpSync(fileURLToPath(new URL("hub", import.meta.url)), folder, { recursive: true });
  const hub = await startProgram(join(folder, "start.mjs"), [JSON.stringify(options)]);
  return { ...hub, close: () => hub.close().then(() => rmSync(folder, { recursive: true, force: true })) };
}

/** Starts the browser. Its heap can be measured exactly. */
export function startBrowser(): Promise<Browser> {
  const chromium = inject("chromium");
  if (chromium === null) throw new Error("Chromium is missing.");
  return launchChromium(chromium, ["--js-flags=--expose-gc", "--enable-precise-memory-info"]);
}

/** A page in a browser of its own, as far as cookies and storage go. */
export interface OpenedPage {
  page: Page;
  context: BrowserContext;
  /** What the page did that it must not do. */
  problems: string[];
}

/** Opens the console, signed in: as the operator, or with a token. */
export async function openConsole(
  browser: Browser,
  hub: RunningHub,
  { token, ...options }: BrowserContextOptions & { token?: string } = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const problems = watch(page, hub.url);
  if (token === undefined) await page.goto((await hub.run<{ link: string }>("link")).link);
  else {
    await page.goto(`${hub.url}/console/`);
    await page.fill("#token", token);
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  await page.waitForSelector("main[data-view=overview]");
  return { page, context, problems };
}

/** Writes a screenshot, to be looked at. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(screenshots, `${name}.png`) });
}

/** Prints a figure, and returns it. */
export function report(name: string, value: number, unit = ""): number {
  console.log(`${name}: ${Number(value.toPrecision(4))} ${unit}`.trimEnd());
  return value;
}
