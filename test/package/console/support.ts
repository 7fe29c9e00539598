import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";

/** A hub in a process of its own. */
export interface RunningHub {
  url: string;
  /** Signs the operator in, once. */
  link: string;
  /** The token of the operator, if the hub created one. */
  token: string;
  /** Sends a command to the program, and returns its response. */
  run<T>(name: string, input?: object): Promise<T>;
  close(): Promise<void>;
}

/** Runs a program that starts a hub and prints its address as a line of JSON. */
export async function startProgram(program: string, args: readonly string[]): Promise<RunningHub> {
  const child: ChildProcess = spawn(process.execPath, [program, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const failed = ended.then(() => Promise.reject(new Error("The hub has ended.")));
  failed.catch(() => {});
  const lines = createInterface({ input: child.stdout! });
  const read = async () => {
    const [line] = (await Promise.race([once(lines, "line"), failed])) as [string];
    return JSON.parse(line);
  };
  return {
    ...(await read()),
    run: (name, input = {}) => {
      child.stdin!.write(`${JSON.stringify({ name, ...input })}\n`);
      return read();
    },
    close: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** What a page did that it must not do: errors, violations of the policy, requests to other origins. */
export function watch(page: Page, url: string): string[] {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // Chromium also reports responses to calls that fail.
    const isOfCall = /status of [45]\d\d/.test(message.text());
    if (message.type() === "error" && !isOfCall) problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("blob:"))
      problems.push(`request: ${request.url()}`);
  });
  return problems;
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns what axe-core finds serious or critical, and whether the page is wider than its window. */
export async function findSeriousProblems(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run()")) as {
    violations: { impact: string; id: string; nodes: { html: string }[] }[];
  };
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth + 1");
  return [
    ...serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`),
    ...(isWide ? ["scrolls sideways"] : []),
  ];
}

/** Returns the files of the console that a page has loaded so far, and their sizes on the wire. */
export async function measureLoad(page: Page): Promise<{ files: string[]; bytes: number }> {
  const entries = (await page.evaluate(`
    [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => name.includes("/console/") && !name.includes("/console/session"))
      .map(({ name, encodedBodySize }) => ({ name: name.replace(/^.*[/]console[/]/, ""), size: encodedBodySize }))
  `)) as { name: string; size: number }[];
  return { files: entries.map(({ name }) => name), bytes: entries.reduce((sum, { size }) => sum + size, 0) };
}

/** Opens a view, and waits until it has loaded. */
export async function openView(page: Page, url: string, view: string): Promise<void> {
  await page.goto(`${url}/console/#/${view}`);
  await page.waitForSelector("main h1");
  await page.waitForSelector("main:not(:has([data-state=loading]))");
}

/** Waits until the hub accepts the input, sends it, and waits for the result. */
export async function send(page: Page, outcome: "ready" | "error" = "ready"): Promise<void> {
  await page.waitForSelector(".check-line[data-state=valid]");
  await page.getByRole("button", { name: /^Send/ }).click();
  const again = page.getByRole("button", { name: "Send it again" });
  const result = page.locator(`section.result[data-state=${outcome}]`);
  await again.or(result).first().waitFor();
  if (await again.isVisible()) await again.click();
  await result.waitFor();
}
