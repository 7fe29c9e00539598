import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createToken } from "../../src/auth/index.ts";
import {
  findSeriousProblems,
  measureLoad,
  openView,
  type RunningHub,
  send,
  startProgram,
  watch,
} from "./console/support.ts";
import { launchChromium } from "./launch-chromium.ts";

const chromium = inject("chromium");
const consumer = inject("consumer");
const dist = join(consumer, "node_modules/@alkdev/operations/dist/console");

/** Starts a hub of the installed package in a process of its own. */
async function startHub(hashes: readonly string[] = []): Promise<RunningHub> {
  const folder = mkdtempSync(join(consumer, "console-"));
  mkdirSync(join(folder, "operations"));
  const program = join(consumer, "console-hub.mjs");
  copyFileSync(new URL("console/hub.mjs", import.meta.url), program);
  const hub = await startProgram(program, [folder, JSON.stringify(hashes)]);
  return { ...hub, close: () => hub.close().then(() => rmSync(folder, { recursive: true, force: true })) };
}

describe("the files of the console", () => {
  test("are few, are not compressed, and the page has nothing inline", () => {
    const names = readdirSync(dist);
    expect(names.filter((name) => /\.(?:gz|br|map)$/.test(name))).toEqual([]);
    expect(names.reduce((sum, name) => sum + statSync(join(dist, name)).size, 0)).toBeLessThan(350_000);
    expect(readFileSync(join(dist, "index.html"), "utf8")).not.toMatch(/<script>|<style|onload=|https?:/);
  });
});

describe.skipIf(chromium === null)("the console in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium(chromium!);
  });
  afterAll(() => browser?.close());

  describe("of the operator", () => {
    let hub: RunningHub;
    let context: BrowserContext;
    let page: Page;
    let problems: string[];
    beforeAll(async () => {
      hub = await startHub();
      context = await browser.newContext({ viewport: { width: 1_440, height: 900 } });
      page = await context.newPage();
      page.setDefaultTimeout(20_000);
      problems = watch(page, hub.url);
      await page.goto(hub.link);
      await page.waitForSelector("main[data-view=overview]");
    });
    afterAll(async () => {
      await context?.close();
      await hub?.close();
    });

    test("a link signs in once, and the code leaves the address", async () => {
      expect(page.url()).toBe(`${hub.url}/console/#/`);
      expect(await page.getByRole("button", { name: "Signed in as operator" }).isVisible()).toBe(true);
      const other = await browser.newContext();
      const second = await other.newPage();
      await second.goto(hub.link);
      await second.waitForSelector("main[data-view=sign-in]");
      expect(await second.textContent("[role=alert]")).toContain("This link has been used");
      await other.close();
    });

    test("the list of operations loads in few requests, and everything else comes on demand", async () => {
      const { link } = await hub.run<{ link: string }>("link");
      const other = await browser.newContext();
      const first = await other.newPage();
      await first.goto(link);
      await first.waitForSelector("main[data-view=overview]");
      await first.goto(`${hub.url}/console/#/operations`);
      await first.reload();
      await first.waitForSelector("[data-operation]");
      const load = await measureLoad(first);
      expect(load.files.length).toBeLessThanOrEqual(5);
      expect(load.bytes).toBeLessThan(60_000);
      await other.close();
    });

    test("an operation is found, called and followed by keyboard only", async () => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("place");
      await page.waitForSelector('[role=option]:has-text("shop.place")');
      await page.keyboard.press("Enter");
      const item = page.locator("[data-field='/item'] input");
      await item.waitFor();
      await item.focus();
      await page.keyboard.type("Mug");
      await page.waitForSelector(".check-line[data-state=valid]");
      await page.keyboard.press("Control+Enter");
      await page.waitForSelector("section.result[data-state=ready]");
      await page.keyboard.press("Control+Enter");
      await page.getByText("The same input was sent before").waitFor();
      await item.evaluate((element: HTMLElement) => element.blur());
      await page.keyboard.press("g");
      await page.keyboard.press("c");
      const rows = page.locator("main[data-view=calls] .rows [data-call]");
      await rows.nth(1).waitFor();
      await page.keyboard.press("j"); // The nested call, which started last.
      const selected = page.locator("a.row.selected:focus");
      await selected.waitFor();
      await page.keyboard.press("j");
      await page.locator("a.row.selected:focus", { hasText: "shop.place" }).waitFor();
      await page.keyboard.press("Enter");
      await page.locator(".call-tree [data-call]").nth(1).waitFor();
      expect(await page.locator(".call-tree [data-call]").allTextContents()).toEqual([
        expect.stringContaining("shop.place"),
        expect.stringContaining("shop.save"),
      ]);
      expect(await page.locator(".call-tree").textContent()).toContain("1 drift");
    });

    test("foreign texts are text, and nothing that they contain runs or is fetched", async () => {
      await page.goto(`${hub.url}/console/#/operations/shop.place`);
      await page.fill("[data-field='/item'] input", "Mug");
      await send(page);
      await page
        .getByRole("tab", { name: "Table" })
        .or(page.getByRole("tab", { name: "Raw" }))
        .first()
        .click();
      await page.getByRole("tab", { name: "Contract" }).click();
      await page.waitForSelector(".contract");
      expect(await page.evaluate("document.querySelectorAll('main img, main script').length")).toBe(0);
      expect(await page.title()).toContain("shop.place");
      expect(await page.locator("main").textContent()).toContain("⟨U+202E⟩");
      expect(await page.locator('main a[href^="javascript"]').count()).toBe(0);
    });

    test("declared errors, problems of the input and values of a subscription are shown", async () => {
      await page.goto(`${hub.url}/console/#/operations/shop.place`);
      await page.fill("[data-field='/item'] input", "");
      await page.waitForSelector(".check-line[data-state=invalid]");
      expect(await page.locator("[data-field='/item'] .field-issue").textContent()).toContain("1 character");
      await page.fill("[data-field='/item'] input", "none");
      await send(page, "error");
      expect(await page.locator("section.result code").first().textContent()).toBe("SOLD_OUT");
      await page.goto(`${hub.url}/console/#/operations/shop.count`);
      await page.getByRole("button", { name: "Start" }).click();
      await page.getByText("ended").waitFor();
      expect(await page.locator("[data-count]").first().textContent()).toBe("3 values");
    });

    test("every view is accessible, in both themes and at both sizes", { timeout: 240_000 }, async () => {
      const views = [
        "",
        "operations",
        "operations/shop.place",
        "operations/shop.place?tab=contract",
        "calls",
        "sources",
        "access?op=shop.place",
      ];
      const found: string[] = [];
      for (const [width, colorScheme] of [
        [1_440, "light"],
        [390, "dark"],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        for (const view of views) {
          await openView(page, hub.url, view);
          found.push(...(await findSeriousProblems(page)).map((problem) => `${view} at ${width}: ${problem}`));
        }
      }
      expect(found).toEqual([]);
    });

    test("the page caused no error, no violation of its policy, and no request to another origin", () => {
      expect(problems).toEqual([]);
    });
  });

  describe("of identities of the configuration", () => {
    const [ada, bob] = [createToken(), createToken()];
    let hub: RunningHub;
    beforeAll(async () => {
      hub = await startHub([ada.hash, bob.hash]);
    });
    afterAll(() => hub?.close());

    test("a token signs in, and each identity sees its own calls only", async () => {
      const pages: Page[] = [];
      for (const { token } of [ada, bob]) {
        const context = await browser.newContext();
        const page = await context.newPage();
        await page.goto(`${hub.url}/console/`);
        await page.fill("#token", token);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.waitForSelector("main[data-view=overview]");
        pages.push(page);
      }
      const [first, second] = pages as [Page, Page];
      await first.goto(`${hub.url}/console/#/operations/shop.save`);
      await first.fill("[data-field='/item'] input", "Mug");
      await send(first);
      await first.goto(`${hub.url}/console/#/calls`);
      await first.waitForSelector("[data-call]");
      await second.goto(`${hub.url}/console/#/calls`);
      await second.getByText("No calls yet").waitFor();
      await Promise.all(pages.map((page) => page.context().close()));
    });

    test("a wrong token, an unknown code and a session without the page are refused", async () => {
      const post = (path: string, body: object, headers: Record<string, string> = {}) =>
        fetch(`${hub.url}/console${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        });
      const page = { "sec-fetch-site": "same-origin" };
      expect((await post("/session", { code: "unknown" }, page)).status).toBe(401);
      expect((await post("/session", {}, { ...page, authorization: "Bearer wrong" })).status).toBe(401);
      expect((await post("/session", {}, { authorization: `Bearer ${ada.token}` })).status).toBe(403);
      const { token } = (await (
        await post("/session", {}, { ...page, authorization: `Bearer ${ada.token}` })
      ).json()) as { token: string };
      const status = async (headers: Record<string, string>) =>
        (await fetch(`${hub.url}/hub/status`, { headers: { authorization: `Bearer ${token}`, ...headers } })).status;
      expect(await status(page)).toBe(200);
      expect(await status({})).toBe(401);
      expect((await post("/session", {}, { origin: "https://example.com" })).status).toBe(403);
      const { code } = (await (await post("/codes", {}, { authorization: `Bearer ${bob.token}` })).json()) as {
        code: string;
      };
      expect((await post("/session", { code }, page)).status).toBe(200);
      expect((await post("/session", { code }, page)).status).toBe(401);
    });
  });
});
