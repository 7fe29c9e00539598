import { type Browser, chromium, type Page } from "playwright-core";

/** How long, in ms, a browser may take for anything on a busy machine. */
const patience = 180_000;

/** Starts a browser that talks to nobody unasked. Playwright gives each a user data folder of its own and removes it. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    timeout: patience,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Opens a page at an address. */
export async function openPage(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  await page.goto(url);
  return page;
}
