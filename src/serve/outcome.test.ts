import { describe, expect, test, vi } from "vitest";
import { CallError, httpEnvelope, type OperationSpec, Type } from "../index.ts";
import { markAsForwarding } from "../registry/inside.ts";
import { toJSONText } from "../transport/http-form.ts";
import { statusOf, toPublicError, toPublicMeta } from "./outcome.ts";

const call = { operationId: "task.get", requestId: "r-1", exposeErrors: false };

function specWith(part: Partial<OperationSpec>): OperationSpec {
  return {
    namespace: "task",
    name: "get",
    version: "1.0.0",
    type: "query",
    description: "",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    ...part,
  };
}

describe("the public form of an error", () => {
  const unexpected = new CallError("EXECUTION_ERROR", "disk full", undefined, { cause: new Error("disk full") });

  test("hides the message of an error that was not thrown as a CallError", () => {
    expect(toPublicError(unexpected, call).toJSON()).toEqual({
      code: "EXECUTION_ERROR",
      message: "The operation failed. Request id: r-1.",
      retryable: false,
      mayHaveRun: true,
    });
    expect(toPublicError(unexpected, { ...call, exposeErrors: true }).message).toBe("disk full");
  });

  test("writes a hidden message to the console of the operator, in one line", () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const cause = new TypeError("disk\nfull");
    toPublicError(new CallError("EXECUTION_ERROR", cause.message, undefined, { cause }), call);
    toPublicError(new CallError("EXECUTION_ERROR", "Try later."), call);
    expect(warn.mock.calls).toEqual([["[alkdev.operations.serve] task.get failed (r-1): TypeError: disk full"]]);
    warn.mockRestore();
  });

  test("keeps the message of a CallError with a cause of its own", () => {
    const error = new CallError("EXECUTION_ERROR", "Try later.", undefined, { cause: new Error("disk full") });
    expect(toPublicError(error, call).message).toBe("Try later.");
  });

  test("hides the message of an unexpected error of a peer, which arrives without its cause", () => {
    const handler = () => {};
    markAsForwarding(handler, {});
    const message = (error: CallError) => toPublicError(error, { ...call, handler }).message;
    expect(message(new CallError("EXECUTION_ERROR", "disk full"))).toBe("The operation failed. Request id: r-1.");
    expect(message(new CallError("EXECUTION_ERROR", "Try later.", { at: 1 }))).toBe("Try later.");
    expect(message(new CallError("TASK_FULL", "Try later."))).toBe("Try later.");
  });

  test("has no headers with secrets in its details, and leaves the error unchanged", () => {
    const headers = {
      "set-cookie": "a=1",
      "www-authenticate": "Basic",
      "x-api-key": "k",
      "content-type": "text/plain",
    };
    const details = {
      status: 404,
      headers,
      setCookie: ["a=1"],
      inner: [{ headers: { authorization: "x", etag: "1" } }],
    };
    const error = new CallError("HTTP_404", "failed", details);

    expect(toPublicError(error, call).details).toEqual({
      status: 404,
      headers: { "content-type": "text/plain" },
      inner: [{ headers: { etag: "1" } }],
    });
    expect(headers["x-api-key"]).toBe("k");
  });
});

describe("the failure of an imported API", () => {
  const detailsOf = (details: object) =>
    toPublicError(new CallError("EXECUTION_ERROR", "HTTP 500", details), call).details;
  const response = { headers: { server: "db-1", etag: "1" }, contentType: "application/json", body: { at: "db-1" } };

  test.each([500, 502, 599])("with status %i has neither headers nor body", (status) => {
    expect(detailsOf({ status, ...response })).toEqual({ status });
    expect(detailsOf({ inner: { status, ...response } })).toEqual({ inner: { status } });
  });

  test("with status 404 has its headers and a body of at most 16 KiB", () => {
    expect(detailsOf({ status: 404, ...response })).toEqual({ status: 404, ...response });
    const long = { ...response, status: 404, body: "x".repeat(20_000) };
    expect(detailsOf(long)).toEqual({ ...long, body: "x".repeat(16_384) });
    const list = { ...response, status: 404, body: Array(10_000).fill("xy") };
    expect(detailsOf(list)).toMatchObject({ status: 404, body: expect.stringMatching(/^\["xy","xy"/) });
    expect((detailsOf(list) as { body: string }).body.length).toBe(16_384);
  });

  test("leaves details of other shapes unchanged", () => {
    for (const details of [
      { status: 500, body: "b" },
      { status: "500", headers: {}, body: "b" },
      { headers: { a: "1" } },
    ]) {
      expect(detailsOf(details)).toEqual(details);
    }
  });
});

test("the public form of meta has no cookies and no headers with secrets", () => {
  const headers = { "set-cookie": "a=1", "www-authenticate": "Basic", "x-session-id": "s", etag: "1" };
  const { meta } = httpEnvelope(1, { statusCode: 200, headers, contentType: "text/plain", setCookie: ["a=1"] });
  expect(toPublicMeta(meta)).toEqual({
    source: "http",
    statusCode: 200,
    headers: { etag: "1" },
    contentType: "text/plain",
  });
});

describe("the status of an error", () => {
  const declares = (httpStatus?: number, part: Partial<OperationSpec> = {}) =>
    specWith({ errorSchemas: [{ code: "E", schema: Type.Unknown(), ...(httpStatus && { httpStatus }) }], ...part });
  const imported = { _meta: { openapi: {} } };

  test.each([
    ["of this package", "TIMEOUT", undefined, 504],
    ["that an operation declares", "E", declares(409), 409],
    ["declared without a status", "E", declares(), 422],
    ["declared with 401", "E", declares(401), 422],
    ["declared with 403", "E", declares(403), 403],
    ["declared with 407", "E", declares(407), 422],
    ["declared with a status of success", "E", declares(200), 422],
    ["that is not declared", "OTHER", declares(409), 422],
    ["called like a property of objects", "constructor", declares(409), 422],
    ["of an imported API", "E", declares(404, imported), 404],
    ["of an imported API with 403", "E", declares(403, imported), 502],
  ])("%s", (_kind, code, spec, status) => {
    expect(statusOf({ code, details: undefined }, spec, true)).toBe(status);
  });

  test.each([
    [404, 404],
    [503, 503],
    [401, 502],
    [403, 502],
    [407, 502],
    [302, 500],
    ["x", 500],
  ])("that an imported API does not declare: %s is %i", (status, expected) => {
    const error = { code: "EXECUTION_ERROR", details: { status } };
    expect(statusOf(error, specWith(imported), true)).toBe(expected);
    expect(statusOf(error, specWith({}), true)).toBe(500);
  });

  test("ACCESS_DENIED depends on the identity", () => {
    expect([false, true].map((has) => statusOf({ code: "ACCESS_DENIED", details: undefined }, undefined, has))).toEqual(
      [401, 403],
    );
  });
});

describe("JSON of results", () => {
  class Point {
    x = 1;
  }
  class Money {
    toJSON() {
      return "5 EUR";
    }
  }
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;

  test.each([
    [{ a: [1, "x", null, true, { b: undefined }] }, '{"a":[1,"x",null,true,{}]}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    [new Point(), '{"x":1}'],
    [[new Money()], '["5 EUR"]'],
    [JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
    [-0, "0"],
    [undefined, undefined],
  ])("%o is %s", (value, text) => {
    expect(toJSONText(value)).toBe(text);
  });

  test.each([
    ["a bigint", { a: [1n] }, "/a/0"],
    ["NaN", { "a/b": Number.NaN }, "/a~1b"],
    ["an infinity", [Number.POSITIVE_INFINITY], "/0"],
    ["undefined in a list", [1, undefined], "/1"],
    ["a function", { run: () => 1 }, "/run"],
    ["a symbol", [Symbol("x")], "/0"],
    ["a Map", { map: new Map() }, "/map"],
    ["a Set", new Set(), ""],
    ["an Error", { error: new Error("x") }, "/error"],
    ["bytes inside", { bytes: new Uint8Array(1) }, "/bytes"],
    ["an invalid Date", { at: new Date(Number.NaN) }, "/at"],
    ["a promise", { later: Promise.resolve(1) }, "/later"],
    ["a Blob", { file: new Blob() }, "/file"],
    ["a cycle", circular, "/self"],
    ["toJSON that returns a bigint", { money: { toJSON: () => 1n } }, "/money"],
  ])("%s is refused with its path", (_kind, value, path) => {
    expect(() => toJSONText(value)).toThrow(
      expect.objectContaining({ code: "EXECUTION_ERROR", details: { path, reason: expect.any(String) } }),
    );
  });

  test("a value that cannot be read is refused with the error as its cause", () => {
    const cause = new Error("closed");
    const fail = () => {
      throw cause;
    };
    const expected = { code: "EXECUTION_ERROR", message: "The result cannot be sent: reading it failed.", cause };

    for (const value of [{ a: { toJSON: fail } }, Object.defineProperty({}, "a", { get: fail, enumerable: true })]) {
      expect(() => toJSONText(value)).toThrow(expect.objectContaining(expected));
    }
  });

  test("the message names the value", () => {
    expect(() => toJSONText({ a: 1n })).toThrow(/^The result has a value at "\/a" that cannot be sent: /);
    expect(() => toJSONText(new Error("x"))).toThrow(/^The result cannot be sent: JSON does not have an Error; /);
  });
});
