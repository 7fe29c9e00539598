import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findSeriousProblems, openView, type RunningHub, send, watch } from "../../test/package/console/support.ts";
import { consumer, openConsole, startBrowser, startHub, takeScreenshot } from "./check-hub.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const sizes = [
  { width: 1_440, height: 900, colorScheme: "light" },
  { width: 390, height: 844, colorScheme: "dark" },
  { width: 1_440, height: 900, colorScheme: "dark" },
  { width: 390, height: 844, colorScheme: "light" },
] as const;

/** Views, and what a person does in them before they are looked at. */
const views: Record<string, [view: string, prepare?: (page: Page) => Promise<unknown>]> = {
  result: ["operations/shop.order", (page) => fill(page, "item", "Mug").then(() => send(page))],
  table: ["operations/shop.orders", (page) => send(page).then(() => page.getByRole("tab", { name: "Table" }).click())],
  drift: ["operations/weather.forecast", (page) => fill(page, "city", "Oslo").then(() => send(page))],
  "declared error": [
    "operations/weather.forecast",
    (page) => fill(page, "city", "Atlantis").then(() => send(page, "error")),
  ],
  content: ["operations/media.draw", (page) => fill(page, "of", "a cat").then(() => send(page))],
  form: ["operations/shop.profile", (page) => page.getByRole("button", { name: "Example" }).click()],
  json: ["operations/shop.profile", (page) => page.getByRole("tab", { name: "JSON" }).click()],
  stream: ["operations/shop.stock?input=eyJldmVyeSI6MTAsImNvdW50Ijo2MH0", startStream],
  contract: ["operations/shop.order?tab=contract"],
  "calls of an operation": ["operations/shop.order?tab=calls"],
  access: ["access?op=shop.vault"],
  overview: [""],
  operations: ["operations"],
  calls: ["calls"],
  call: ["calls?op=shop.order", (page) => page.locator(".rows [data-call]").first().click()],
  sources: ["sources"],
  "no such page": ["nothing"],
  "no such operation": ["operations/shop.ordr"],
  "no match": ["operations?q=zzzzz"],
  palette: ["", (page) => page.keyboard.press("Control+k").then(() => page.keyboard.type("order"))],
  keys: ["calls", (page) => page.keyboard.press("?")],
};

async function fill(page: Page, name: string, value: string): Promise<void> {
  await page.fill(`[data-field='/${name}'] input`, value);
}

async function startStream(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("ended").waitFor();
}

describe("every view", () => {
  let hub: RunningHub;
  beforeAll(async () => {
    hub = await startHub();
  });
  afterAll(() => hub?.close());

  test.each(sizes)("is accessible and fits at $width in $colorScheme", async ({ width, height, colorScheme }) => {
    const options = {
      viewport: { width, height },
      colorScheme,
      ...(width < 500 && { hasTouch: true, isMobile: true }),
    };
    const { page, context, problems } = await openConsole(browser, hub, options);
    for (const [name, [view, prepare]] of Object.entries(views)) {
      await openView(page, hub.url, view);
      await prepare?.(page);
      await page.waitForSelector("main:not(:has([data-state=loading]))");
      problems.push(...(await findSeriousProblems(page)).map((problem) => `${name}: ${problem}`));
      await takeScreenshot(page, `${name}-${width}-${colorScheme}`);
      if (name === "palette" || name === "keys") await page.keyboard.press("Escape");
    }
    await context.close();
    expect(problems).toEqual([]);
  });
});

test("a hub without sources says what to do next, in every view", async () => {
  const hub = await startHub({ isBare: true });
  const { page, context, problems } = await openConsole(browser, hub);
  for (const view of ["", "operations", "calls", "sources", "access"]) {
    await openView(page, hub.url, view);
    problems.push(...(await findSeriousProblems(page)).map((problem) => `${view}: ${problem}`));
    await takeScreenshot(page, `empty ${view}`);
  }
  await openView(page, hub.url, "sources");
  expect(await page.locator("main").textContent()).toContain("This hub has no sources yet");
  await context.close();
  await hub.close();
  expect(problems).toEqual([]);
});

test("the hub of the examples shows one tree across a function, an HTTP API and an MCP server", async () => {
  const folder = join(consumer, "example");
  cpSync(join(consumer, "node_modules/@alkdev/operations/examples/hub"), folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const env = { ...process.env, PORT: "0", XDG_STATE_HOME: join(folder, "state") };
  const child = spawn(process.execPath, ["--import", "tsx", "start.ts"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let link = "";
  for await (const line of createInterface({ input: child.stdout })) {
    link = /http\S+#code=\S+/.exec(line)?.[0] ?? "";
    if (link !== "") break;
  }
  child.stdout.resume();
  const url = new URL(link).origin;
  const context = await browser.newContext({ viewport: { width: 1_280, height: 640 } });
  const page = await context.newPage();
  const problems = watch(page, url);
  await page.goto(link);
  await page.waitForSelector("main[data-view=overview]");
  await openView(page, url, "operations/order.place");
  await fill(page, "item", "Mug");
  await fill(page, "city", "Oslo");
  await send(page);
  await page.getByRole("link", { name: "Show the tree of calls" }).click();
  const rows = page.locator(".call-tree [data-call]");
  await rows.nth(3).waitFor();
  const marks = page.locator(".call-tree").getByRole("img");
  expect(await marks.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))).toEqual([
    "function",
    "HTTP API",
    "function",
    "MCP tool",
  ]);
  await rows.nth(1).click();
  await takeScreenshot(page, "example call");
  await page.getByRole("link", { name: "Run this call again" }).click();
  await page.waitForSelector("main h1:has-text('book')");
  await context.close();
  child.kill("SIGTERM");
  await once(child, "exit");
  expect(problems).toEqual([]);
});
