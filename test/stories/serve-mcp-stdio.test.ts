import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { OperationRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../src/internal/testing.ts";
import { bundleProgram } from "../../src/transport/testing.ts";

const program = await bundleProgram(new URL("./mcp/noisy-stdio.ts", import.meta.url));

test.each(["legacy", "2026-07-28"] as const)("a program serves its registry over stdio to %s", async (protocol) => {
  const registry = new OperationRegistry();
  onTestFinished(() => registry.close());
  const source = mcpSource({
    name: "noise",
    command: process.execPath,
    args: [program],
    protocol,
    trust: "operations",
  });
  await registry.follow(source);
  const { data } = await registry.execute("noise.print", { text: "hello" });
  expect(data).toEqual({ printed: "hello", id: "local" });

  await registry.execute("noise.grow", {});
  await registry.waitFor("noise.added");
});

test("stdout carries nothing but the protocol, whatever the program prints", async () => {
  const child = start();
  initialize(child);
  send(child, 2, "tools/call", { name: "noise_print", arguments: { text: '{"jsonrpc":"2.0","id":9,"result":{}}' } });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const messages = [await lines.next(), await lines.next()].map(({ value }) => JSON.parse(value as string));
  expect(messages.map(({ id, result }) => [id, result.structuredContent?.id])).toEqual([
    [1, undefined],
    [2, "local"],
  ]);
  await until(() => child.errors.join("").includes("without a newline"));
  send(child, 8, "tools/call", { name: "noise_end", arguments: {} });
  expect(JSON.parse((await lines.next()).value as string)).toMatchObject({ id: 8, result: { content: [] } });
  send(child, 9, "ping", {});
  expect(JSON.parse((await lines.next()).value as string)).toEqual({ jsonrpc: "2.0", id: 9, result: {} });
  await until(() => child.errors.join("").includes("the end"));

  send(child, 3, "tools/call", { name: "noise_wait", arguments: {} });
  await until(() => child.stdin.writableLength === 0);
  child.stdin.end();
  expect(await lines.next()).toMatchObject({ done: true });
  const [code] = await child.exit;
  expect(code).toBe(0);
  expect(child.errors.join("")).toMatch(/aborted\nclosed\n$/);
});

test("a line that is not a message is skipped, and the next one is handled", async () => {
  const child = start();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  initialize(child);
  expect(JSON.parse((await lines.next()).value as string)).toMatchObject({ id: 1 });
  child.stdin.write("{\n[1]\n");
  send(child, 2, "ping", {});
  expect(JSON.parse((await lines.next()).value as string)).toEqual({ jsonrpc: "2.0", id: 2, result: {} });
});

test("a result that is too large is an error", async () => {
  const child = start();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  initialize(child);
  await lines.next();
  send(child, 2, "tools/call", { name: "noise_fill", arguments: {} });
  expect(JSON.parse((await lines.next()).value as string)).toMatchObject({
    id: 2,
    result: { isError: true, content: [{ text: /^LIMIT_EXCEEDED: The result is too large/ }] },
  });
});

test("a message that is too long closes the connection", async () => {
  const child = start();
  child.stdin.on("error", () => {}); // The program ends before it has read everything.
  initialize(child);
  child.stdin.write(Buffer.alloc(40_000_000, "x"));
  const [code] = await child.exit;
  expect([code, child.errors.join("").endsWith("closed\n")]).toEqual([0, true]);
});

function initialize(child: ChildProcessWithoutNullStreams): void {
  const clientInfo = { name: "test", version: "1" };
  send(child, 1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
}

function start(): ChildProcessWithoutNullStreams & { errors: string[]; exit: Promise<unknown[]> } {
  const child = spawn(process.execPath, [program]);
  onTestFinished(() => void child.kill());
  const errors: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(String(chunk)));
  return Object.assign(child, { errors, exit: once(child, "exit") });
}

function send(child: ChildProcessWithoutNullStreams, id: number | string, method: string, params: object): void {
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
}
