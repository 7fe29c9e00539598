import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { measureLoad, openView, send } from "../../test/package/console/support.ts";
import { consumer, openConsole, report, startBrowser, startHub } from "./check-hub.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const percentile = (values: readonly number[], part: number) =>
  [...values].sort((one, other) => one - other)[Math.ceil(values.length * part) - 1]!;

/** The heap after garbage was collected, in MB. */
async function heapOf(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number };
  return usedSize / 1e6;
}

/** Records the durations of tasks that block the page for longer than 50 ms. */
const observeLongTasks = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ entryTypes: ["longtask"] });
`;

async function longestTask(page: Page): Promise<number> {
  return (await page.evaluate("Math.max(0, ...longTasks)")) as number;
}

test("the first load, the package, and 10,000 operations", async () => {
  const dist = join(consumer, "node_modules/@alkdev/operations/dist/console");
  const size = readdirSync(dist).reduce((sum, name) => sum + statSync(join(dist, name)).size, 0);
  expect(report("dist/console", size / 1_000, "kB")).toBeLessThanOrEqual(350);

  const hub = await startHub({ count: 9_990 });
  const { page, context, problems } = await openConsole(browser, hub);
  await page.goto(`${hub.url}/console/#/operations`);
  await page.reload();
  await page.waitForSelector("[data-operation]");
  const load = await measureLoad(page);
  expect(report("first load of the operations, compressed", load.bytes / 1_000, "kB")).toBeLessThanOrEqual(60);
  expect(report("requests of the first load", load.files.length)).toBeLessThanOrEqual(5);
  expect(Number(await page.locator(".count").getAttribute("data-count"))).toBeGreaterThan(10_000);

  const durations: number[] = [];
  const search = page.getByLabel("Search operations", { exact: true });
  for (const letter of "read thing warehouse 4711") {
    const before = await page.evaluate("performance.now()");
    const changed = page.evaluate(`new Promise((resolve) => {
      const list = document.querySelector(".view");
      const observer = new MutationObserver(() => {
        if (document.querySelector("[data-state=ready] [data-operation], [data-state=ready] [data-state=empty]") === null) return;
        observer.disconnect();
        resolve(performance.now());
      });
      let isStarted = false;
      list.addEventListener("input", () => { isStarted = true; });
      observer.observe(list, { subtree: true, childList: true, attributes: true });
    })`);
    await search.pressSequentially(letter);
    durations.push(((await changed) as number) - (before as number));
    expect(await page.locator(".rows li").count()).toBeLessThanOrEqual(60);
  }
  expect(
    report("keystroke to results at 10,000 operations, p95", percentile(durations, 0.95), "ms"),
  ).toBeLessThanOrEqual(100);
  await search.fill("");
  await page.locator("[data-operation]").first().waitFor();
  for (let at = 0; at < 40; at++) {
    await page.locator(".rows").evaluate((list) => list.scrollBy(0, 5_000));
    await page.waitForTimeout(20);
  }
  const rows = await page.locator(".rows li").count();
  expect(report("rows in the document after scrolling", rows)).toBeLessThanOrEqual(60);
  const heap = await heapOf(await context.newCDPSession(page));
  expect(report("heap with 10,000 operations", heap, "MB")).toBeLessThanOrEqual(40);
  expect(problems).toEqual([]);
  await context.close();
  await hub.close();
});

test("100,000 live calls at 2,000 a second", async () => {
  const hub = await startHub();
  const calls = 100_000;
  const { page, context, problems } = await openConsole(browser, hub);
  await openView(page, hub.url, "calls");
  await page.locator(".live-live").waitFor();
  await page.evaluate(observeLongTasks);
  const session = await context.newCDPSession(page);
  await hub.run("load", { calls: 6_000, perSecond: 2_000 }); // The list is full.
  const before = await heapOf(session);
  await page.evaluate("longTasks.length = 0");
  const { ms } = await hub.run<{ ms: number }>("load", { calls, perSecond: 2_000 });
  await page.locator(`.live-line [data-count="${calls + 6_000}"]`).waitFor();
  const text = (await page.locator(".live-line").textContent())!;
  expect(text).toContain(`${((calls + 6_000) / 100).toLocaleString("en-US")} failed`);
  expect(text).toContain("0 running");
  report("calls a second", calls / (ms / 1_000));
  expect(report("growth of the heap by 100,000 calls", (await heapOf(session)) - before, "MB")).toBeLessThanOrEqual(20);
  expect(report("longest task", await longestTask(page), "ms")).toBeLessThanOrEqual(100);
  expect(await page.locator(".rows li").count()).toBeLessThanOrEqual(60);
  expect(problems).toEqual([]);
  await context.close();
  await hub.close();
});

test("a reader costs the hub at most 5 % of the time of its processor", async () => {
  const hub = await startHub();
  const measure = async () => {
    const { ms } = await hub.run<{ ms: number }>("cpu");
    await hub.run("load", { calls: 20_000, perSecond: 2_000 });
    return (await hub.run<{ ms: number }>("cpu")).ms - ms;
  };
  await measure();
  // In turns, so that other programs disturb both alike.
  const without: number[] = [];
  const withReader: number[] = [];
  for (let at = 0; at < 3; at++) {
    without.push(await measure());
    const { page, context } = await openConsole(browser, hub);
    await openView(page, hub.url, "calls");
    await page.locator(".live-live").waitFor();
    withReader.push(await measure());
    await context.close();
  }
  const share = Math.min(...withReader) / Math.min(...without) - 1;
  report("more time of the processor with a reader, at 2,000 calls a second", 100 * share, "%");
  report(
    "time of the processor that the reader takes of one core",
    (Math.min(...withReader) - Math.min(...without)) / 100,
    "%",
  );
  expect((Math.min(...withReader) - Math.min(...without)) / 10_000).toBeLessThanOrEqual(0.05);
  await hub.close();
});

test("10 MB of data are shown within a second, and the tree opens within 100 ms", async () => {
  const hub = await startHub();
  const { page, context, problems } = await openConsole(browser, hub);
  await openView(page, hub.url, "operations/shop.export");
  await page.evaluate(observeLongTasks);
  await page.evaluate(`
    globalThis.shownAt = new Promise((resolve) => new MutationObserver((_, observer) => {
      if (document.querySelector("section.result[data-state=ready]") === null) return;
      observer.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
    }).observe(document.body, { subtree: true, childList: true }));
    0; // Without it, the promise would be awaited.
  `);
  await send(page);
  const shown = (await page.evaluate(`shownAt.then((at) => at - performance
    .getEntriesByType("resource")
    .findLast(({ name }) => name.includes("/shop/export")).responseEnd)`)) as number;
  expect(report("10 MB shown after their arrival", shown, "ms")).toBeLessThanOrEqual(1_000);
  expect(shown).toBeGreaterThan(0);
  const opened = (await page.evaluate(`(async () => {
    const before = performance.now();
    document.querySelector(".result .tree .fold").click();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return performance.now() - before;
  })()`)) as number;
  expect(report("the tree opens", opened, "ms")).toBeLessThanOrEqual(100);
  expect(await page.locator(".result .tree-node").count()).toBeLessThanOrEqual(1_100);
  expect(problems).toEqual([]);
  await context.close();
  await hub.close();
});

test("a hub without the console serves no page", async () => {
  const hub = await startHub({ console: false });
  expect((await fetch(`${hub.url}/console/`)).status).not.toBe(200);
  expect(hub.link).toBeUndefined();
  await hub.close();
});
