import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createMCPClient } from "../client.ts";
import { MCPClientLoader } from "../loader.ts";
import { findErrorLine } from "./program-output.ts";
import { call, connect, program, reaches } from "./testing.ts";

test.each([
  [["starting", "no licence"], "no licence"],
  [["file:1", "throw new Error()", "^", "Error: boom", "at main (x.js:1:1)", "Node.js v20.20.2"], "Error: boom"],
  [
    ["Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'", "at a", "code: 'E'", "}", "Node.js v22.1.0"],
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'",
  ],
  [["Error: first", "at a", "TypeError: second", "at b"], "TypeError: second"],
  [["Error: of a log", "fatal: no configuration"], "fatal: no configuration"],
  [["Traceback (most recent call last):", "ValueError: bad"], "ValueError: bad"],
  [["something else", "Node.js v20.20.2"], "Node.js v20.20.2"],
  [[], undefined],
])("the error line of %j is %j", (lines, expected) => {
  expect(findErrorLine(lines)).toBe(expected);
});

test("an error in response to tools/list is a CallError with the name of the server", async () => {
  const source = `handlers["tools/list"] = ({ id }) =>
    void send({ id, error: { code: -32000, message: "The database is away", data: { host: "db1" } } });`;

  const opening = createMCPClient("shop", program(source));

  await expect(opening).rejects.toMatchObject({
    name: "CallError",
    code: "EXECUTION_ERROR",
    message: 'The MCP server "shop" could not list its tools: The database is away.',
    details: { server: "shop", mcp: { code: -32000, data: { host: "db1" } } },
    mayHaveRun: false,
  });
});

test.each([[true], [false]])(
  "the end of a program before it listed its tools is reported, with restart: %s",
  async (restart) => {
    const loader = new MCPClientLoader();
    onTestFinished(() => loader.closeAll());
    const source = `handlers["tools/list"] = () => { throw new TypeError("no such column"); };`;

    await loader.load({ shop: { ...program(source), restart: restart && { limit: 1, delay: 1 } } });

    const { status, error, stderr } = loader.getStates()["shop"]!;
    expect({ status, code: error!.code, details: error!.details }).toMatchObject({
      status: "failed",
      code: "UNAVAILABLE",
      details: { server: "shop", exitCode: 1, signal: null, stderr },
    });
    expect(error!.message).toContain("The program ended with code 1. Its last output: TypeError: no such column");
    expect(stderr).toContain("TypeError: no such column");
  },
);

test("a call after the window restarts a failed program", async () => {
  const folder = await mkdtemp(join(tmpdir(), "operations-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const broken = join(folder, "broken");
  const source = `
    const { existsSync } = require("node:fs");
    if (existsSync(${JSON.stringify(broken)})) { console.error("the disk is full"); process.exit(1); }
    calls.die = () => process.exit(1);
  `;
  const connection = await connect({ ...program(source), restart: { limit: 2, window: 2_000, delay: 1 } });
  await writeFile(broken, "");
  const failed = reaches(connection, "failed");
  await call(connection, "die").catch(() => {});
  await failed;
  await call(connection, "echo").catch(() => {}); // it may still wait for the attempt that failed

  const refused = await call(connection, "echo").catch((error) => error);
  await rm(broken);

  expect(refused).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: false });
  expect(refused.details).toMatchObject({ server: "tiny", exitCode: 1, retryAfter: expect.any(Number) });
  expect(refused.message).toMatch(
    /^The MCP server "tiny" has failed\. The first call after \d+ ms starts it again\..*Its last output: the disk is full$/,
  );
  await expect.poll(() => call(connection, "echo", {}).catch(() => "")).toBe("{}");
  expect(connection.state.status).toBe("ready");
});

test("the error of a program that is not restarted explains how to start it, and is not retryable", async () => {
  const connection = await connect({ ...program("calls.die = () => process.exit(3)"), restart: false });
  const failed = reaches(connection, "failed");
  await expect(call(connection, "die")).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message:
      'The connection to the MCP server "tiny" was lost before it responded to the call of tool "die". The program ended with code 3.',
    details: { server: "tiny", exitCode: 3, signal: null },
    mayHaveRun: true,
  });
  await failed;

  await expect(call(connection, "echo")).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message:
      'The MCP server "tiny" has failed, and "restart" does not allow a restart. Call reconnect() to start it. ' +
      'The connection to the MCP server "tiny" was lost. The program ended with code 3.',
    retryable: false,
    mayHaveRun: false,
  });
  await connection.reconnect();
  expect(await call(connection, "echo", {})).toBe("{}");
});
