import { describe, expect, test } from "vitest";
import { CallError, type Progress } from "../../operation/index.ts";
import type { MCPRequestOptions } from "./connection/index.ts";
import { context, FakeConnection, mcpTool, sdkError, wrap } from "./testing.ts";

async function setUp(tool: Record<string, unknown> = {}) {
  const connection = new FakeConnection();
  connection.tools = [mcpTool(tool)];
  const wrapper = await wrap(connection);
  const { handler } = wrapper.tools[0]!;
  return { connection, wrapper, call: async (input: unknown, of = context()) => handler(input, of) };
}

function failing(error: unknown) {
  return () => {
    throw error;
  };
}

describe("a call", () => {
  test("sends name, arguments and the tool as it was listed", async () => {
    const { connection, call } = await setUp({ outputSchema: { type: "object" } });
    let sent: unknown;
    connection.call = (params, { tool }) => {
      sent = { params, tool };
      return { content: [], structuredContent: { ok: true } };
    };

    const envelope = await call({ text: "hi" });

    expect(sent).toEqual({
      params: { name: "echo", arguments: { text: "hi" } },
      tool: mcpTool({ outputSchema: { type: "object" } }),
    });
    expect(envelope).toEqual({
      data: { ok: true },
      meta: { source: "mcp", isError: false, content: [], structuredContent: { ok: true } },
    });
  });

  test.each([[undefined], [null], ["text"], [[1]]])("without an object, %j, sends no arguments", async (input) => {
    const { connection, call } = await setUp();
    let sent: unknown;
    connection.call = (params) => {
      sent = params;
      return { content: [] };
    };

    await call(input);

    expect(sent).toEqual({ name: "echo", arguments: {} });
  });

  test("refuses arguments with content that JSON would drop", async () => {
    const { connection, call } = await setUp();
    let calls = 0;
    connection.call = () => {
      calls += 1;
      return { content: [] };
    };

    await expect(call({ files: [new Blob(["x"])] })).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message:
        '"fake.echo" cannot be called: its input has a value at "/files/0" that cannot be sent: JSON does not have a Blob. Pass JSON values only.',
      mayHaveRun: false,
    });
    expect(calls).toBe(0);
  });

  test("passes on the signal, the time left, and progress", async () => {
    const { connection, call } = await setUp();
    const { signal } = new AbortController();
    const heard: Progress[] = [];
    let options: MCPRequestOptions = {};
    connection.call = (_, given) => {
      options = given;
      given.onprogress?.({ progress: 1, total: 2, message: "half" });
      given.onprogress?.({ progress: 2 });
      return { content: [] };
    };

    const deadline = Date.now() + 5_000;
    await call({}, context({ signal, abortable: true, deadline, progress: (progress) => heard.push(progress) }));

    expect(options.signal).toBe(signal);
    expect(options.timeout).toBeGreaterThan(0);
    expect(options.timeout).toBeLessThanOrEqual(5_000);
    expect(heard).toEqual([{ progress: 1, total: 2, message: "half" }, { progress: 2 }]);
  });

  test("creates no signal when nothing can abort the call", async () => {
    const { connection, call } = await setUp();
    let options: MCPRequestOptions = {};
    connection.call = (_, given) => {
      options = given;
      return { content: [] };
    };

    await call({}); // this context throws when its signal is read

    expect(options).toMatchObject({ signal: undefined, timeout: undefined });
  });
});

describe("a failure", () => {
  test("of the connection is thrown unchanged", async () => {
    const { connection, call } = await setUp();
    const error = new CallError("UNAVAILABLE", "gone", undefined, { retryable: true });
    connection.call = failing(error);

    await expect(call({})).rejects.toBe(error);
  });

  test("for invalid arguments is VALIDATION_ERROR while the server has the tool", async () => {
    const { connection, call } = await setUp();
    const cause = sdkError(-32602, "text is missing", { path: "text" });
    connection.call = failing(cause);

    const error = await call({}).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({
      code: "VALIDATION_ERROR",
      message: '"fake.echo" was refused: text is missing',
      details: { operationId: "fake.echo", mcp: { code: -32602, data: { path: "text" } } },
      retryable: false,
      mayHaveRun: false,
      cause,
    });
  });

  test("for a removed tool is OPERATION_NOT_FOUND, and the operation is removed", async () => {
    const { connection, call, wrapper } = await setUp();
    connection.call = failing(sdkError(-32602, "Unknown tool"));
    connection.tools = [];
    const changes: unknown[] = [];
    wrapper.onChange((change) => changes.push(change));

    await expect(call({})).rejects.toMatchObject({
      code: "OPERATION_NOT_FOUND",
      details: { operationId: "fake.echo" },
      retryable: false,
      mayHaveRun: false,
    });
    expect(changes).toEqual([{ added: [], changed: [], removed: ["fake.echo"] }]);
  });

  test("counts as invalid arguments when the list cannot be read", async () => {
    const { connection, call } = await setUp();
    connection.call = failing(sdkError(-32602, "unusual"));
    connection.tools = async () => {
      throw new CallError("UNAVAILABLE", "gone");
    };

    await expect(call({})).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  });

  test.each([
    [-32601, {}, { code: "OPERATION_NOT_FOUND", retryable: false, mayHaveRun: false }],
    [-32603, {}, { code: "EXECUTION_ERROR", retryable: false, mayHaveRun: true }],
    [-32000, {}, { code: "EXECUTION_ERROR", retryable: false, mayHaveRun: true }],
    [42, {}, { code: "EXECUTION_ERROR", message: '"fake.echo" failed: no', retryable: false, mayHaveRun: true }],
    [
      -32021,
      { requiredCapabilities: { elicitation: {} } },
      { code: "INPUT_REQUIRED", retryable: false, message: expect.stringContaining("onElicit") },
    ],
    [
      -32021,
      { requiredCapabilities: { sampling: {} } },
      { code: "INPUT_REQUIRED", message: expect.stringMatching(/does not support/) },
    ],
    ["CAPABILITY_NOT_SUPPORTED", {}, { code: "INPUT_REQUIRED", message: expect.stringMatching(/does not support/) }],
    [-32042, { elicitations: [] }, { code: "INPUT_REQUIRED", retryable: false }],
    ["INVALID_RESULT", {}, { code: "BAD_RESPONSE", retryable: false, mayHaveRun: true }],
    ["UNSUPPORTED_RESULT_TYPE", { resultType: "task" }, { code: "BAD_RESPONSE" }],
    ["UNSUPPORTED_RESULT_TYPE", { resultType: "input_required" }, { code: "INPUT_REQUIRED" }],
    [
      "INPUT_REQUIRED_ROUNDS_EXCEEDED",
      {},
      { code: "INPUT_REQUIRED", message: expect.stringMatching(/keeps requesting input/) },
    ],
    ["SOMETHING_ELSE", {}, { code: "EXECUTION_ERROR", message: "no" }],
  ])("with the server's code %j and data %j", async (code, data, expected) => {
    const { connection, call } = await setUp();
    connection.call = failing(sdkError(code, "no", data));

    await expect(call({})).rejects.toMatchObject(expected);
  });

  test("contains a bounded part of the server's message", async () => {
    const { connection, call } = await setUp();
    connection.call = failing(sdkError(-32603, "x".repeat(100_000), { much: "y".repeat(100_000) }));

    const error = (await call({}).catch((thrown: unknown) => thrown)) as CallError;

    expect(error.message.length).toBeLessThan(1_200);
    expect(error.details).toEqual({ operationId: "fake.echo", mcp: { code: -32603 } });
  });
});
