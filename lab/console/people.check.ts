import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createToken } from "../../src/auth/index.ts";
import { openView, type RunningHub, send } from "../../test/package/console/support.ts";
import { consumer, openConsole, startBrowser, startHub } from "./check-hub.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const [ada, bob] = [createToken(), createToken()];
const tokens = [
  { hash: ada.hash, identity: { id: "ada", scopes: ["shop", "hub:read"] } },
  { hash: bob.hash, identity: { id: "bob", scopes: ["weather", "hub:read"] } },
];
const item = (page: Page) => page.locator("[data-field='/item'] input");
const input = Buffer.from(JSON.stringify({ item: "Mug" })).toString("base64url");

function post(hub: RunningHub, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${hub.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** A port that is free, so that a hub starts again at the same address. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("two identities side by side see neither calls, nor operations, nor counters of the other", async () => {
  const hub = await startHub({ tokens });
  const [first, second] = [await openConsole(browser, hub, ada), await openConsole(browser, hub, bob)];
  await openView(second.page, hub.url, "calls");
  await openView(first.page, hub.url, `operations/shop.price?input=${input}`);
  await send(first.page);
  await openView(first.page, hub.url, "calls");
  await first.page.locator(".rows [data-call]").first().waitFor();
  const href = await first.page.locator(".rows [data-call]").first().getAttribute("href");
  await first.page.locator(".live-line [data-count='0']").waitFor({ state: "detached" });
  await second.page.goto(`${hub.url}/console/${href}`);
  await second.page.getByText("This call is not recorded, or it is not yours").waitFor();
  await openView(second.page, hub.url, "calls");
  await second.page.getByText("No calls yet").waitFor();
  expect(await second.page.locator(".live-line [data-count]").getAttribute("data-count")).toBe("0");
  await openView(second.page, hub.url, "");
  expect(await second.page.locator(".figures").getAttribute("data-count")).toBe("0");
  await openView(second.page, hub.url, "operations");
  expect(await second.page.locator("[data-operation^='shop.']").count()).toBe(0);
  await openView(second.page, hub.url, "operations/shop.price");
  await second.page.locator("[data-state=denied]").waitFor();
  expect(await second.page.locator("main").textContent()).toContain("no");
  expect(await second.page.locator("main").textContent()).not.toContain("Returns the price");
  for (const { context, problems } of [first, second]) {
    await context.close();
    expect(problems).toEqual([]);
  }
  await hub.close();
});

test("a code that was used, an unknown one, and a session outside of the page are refused", async () => {
  const hub = await startHub({ tokens });
  const fromPage = { "sec-fetch-site": "same-origin" };
  const { code } = (await (await post(hub, "/console/codes", {}, { authorization: `Bearer ${ada.token}` })).json()) as {
    code: string;
  };
  expect((await post(hub, "/console/session", { code }, { "sec-fetch-site": "cross-site" })).status).toBe(403);
  const opened = await post(hub, "/console/session", { code }, fromPage);
  const { token, identity } = (await opened.json()) as { token: string; identity: { id: string } };
  expect(identity.id).toBe("ada");
  expect((await post(hub, "/console/session", { code }, fromPage)).status).toBe(401);
  expect((await post(hub, "/console/codes", {})).status).toBe(401);
  const status = (headers: Record<string, string>) =>
    fetch(`${hub.url}/hub/status`, { headers: { authorization: `Bearer ${token}`, ...headers } }).then(
      (response) => response.status,
    );
  expect(await status(fromPage)).toBe(200);
  expect(await status({})).toBe(401);
  expect(await status({ "sec-fetch-site": "cross-site" })).toBe(403);
  const last = await Promise.all(
    Array.from({ length: 30 }, () => post(hub, "/console/session", { code: "wrong" }, fromPage)),
  );
  expect(last.some((response) => response.status === 429)).toBe(true);
  await hub.close();
});

test("a hub that starts again asks to sign in, and continues at the same place with the draft; history is kept", async () => {
  const folder = mkdtempSync(join(consumer, "restart-"));
  const options = { port: await findPort(), tokens, history: { file: join(folder, "history.db") } };
  let hub = await startHub(options);
  const { page, context, problems } = await openConsole(browser, hub, ada);
  await openView(page, hub.url, "operations/shop.price");
  await item(page).fill("Mug");
  await send(page);
  await item(page).fill("Lamp");
  await hub.close();
  await page.locator(".live-stopped").waitFor();
  hub = await startHub(options);
  await page.waitForSelector("main[data-view=sign-in]");
  expect(await page.textContent("[role=alert]")).toContain("was restarted");
  await page.fill("#token", ada.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await item(page).waitFor();
  expect(await item(page).inputValue()).toBe("Lamp");
  await openView(page, hub.url, "calls");
  await page.locator(".rows [data-call]", { hasText: "shop.price" }).waitFor();
  await context.close();
  await hub.close();
  expect(problems.filter((problem) => !problem.includes("net::ERR_"))).toEqual([]);
});

test("a token that is removed ends its sessions", async () => {
  const hub = await startHub({ tokens });
  const { page, context } = await openConsole(browser, hub, bob);
  await hub.run("reload", { tokens: tokens.slice(0, 1) });
  await page.waitForSelector("main[data-view=sign-in]");
  expect(await page.textContent("[role=alert]")).toContain("removed");
  await context.close();
  await hub.close();
});

test("without a network a call fails with advice, and works again afterwards", async () => {
  const hub = await startHub({ tokens });
  const { page, context } = await openConsole(browser, hub, ada);
  await openView(page, hub.url, `operations/shop.price?input=${input}`);
  await page.waitForSelector(".check-line[data-state=valid]");
  await context.setOffline(true);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator("section.result[data-state=error]").waitFor();
  expect(await page.locator("section.result code").first().textContent()).toBe("UNAVAILABLE");
  await context.setOffline(false);
  await send(page);
  expect(await page.locator("section.result").textContent()).toContain("300");
  await context.close();
  await hub.close();
});

test("a second tab is signed in by the first one, and signing out ends both", async () => {
  const hub = await startHub({ tokens });
  const { page, context, problems } = await openConsole(browser, hub, ada);
  const second = await context.newPage();
  await second.goto(`${hub.url}/console/#/operations/shop.price`);
  await item(second).waitFor();
  await page.getByRole("button", { name: "Signed in as ada" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await second.waitForSelector("main[data-view=sign-in]");
  await page.waitForSelector("main[data-view=sign-in]");
  await context.close();
  await hub.close();
  expect(problems).toEqual([]);
});

test("back and forward keep filters and drafts, and so does a reload", async () => {
  const hub = await startHub({ tokens });
  const { page, context, problems } = await openConsole(browser, hub, ada);
  await openView(page, hub.url, "operations");
  await page.getByLabel("Search operations", { exact: true }).fill("price");
  await page.locator("[data-operation='shop.price']").first().click();
  await item(page).fill("Chair");
  await page.goBack();
  await page.waitForSelector("main[data-view=operations] h1:has-text('Operations')");
  expect(await page.getByLabel("Search operations", { exact: true }).inputValue()).toBe("price");
  await page.goForward();
  expect(await item(page).inputValue()).toBe("Chair");
  await page.reload();
  await item(page).waitFor();
  expect(await item(page).inputValue()).toBe("Chair");
  expect(await page.locator("section.result").count()).toBe(0);
  await context.close();
  await hub.close();
  expect(problems).toEqual([]);
});
