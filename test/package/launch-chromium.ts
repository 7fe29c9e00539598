import { type Browser, chromium, type Page } from "playwright-core";
import type { Program } from "../../scripts/ensure-program.ts";

/** Time limit in ms for starting a browser and for each step in it. A test with a browser has the same limit. */
export const browserTimeout = 120_000;

/** Starts a browser that contacts no server on its own. Playwright creates and removes its user data folder. */
export function launchChromium({ path, env }: Program, args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: path,
    env,
    timeout: browserTimeout,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...args,
    ],
  });
}

/** Opens a page at an address. */
export async function openPage(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(browserTimeout);
  await page.goto(url);
  return page;
}
