import { expect, test } from "vitest";
import { findNetworkFailure } from "./network-error.ts";

const toError = (fields: object) => new TypeError("fetch failed", { cause: Object.assign(new Error(), fields) });

test.each([
  [{ code: "ECONNREFUSED", syscall: "connect" }, "connect"],
  [{ code: "EPERM", syscall: "connect" }, "connect"],
  [{ code: "ENOTFOUND", syscall: "getaddrinfo" }, "connect"],
  [{ code: "EHOSTUNREACH", syscall: "connect" }, "connect"],
  [{ code: "EHOSTUNREACH", syscall: "read" }, "lost"],
  [{ code: "ENETUNREACH", syscall: "write" }, "lost"],
  [{ code: "UND_ERR_CONNECT_TIMEOUT" }, "connect"],
  [{ code: "ECONNRESET", syscall: "read" }, "lost"],
  [{ code: "UND_ERR_SOCKET" }, "lost"],
  [{ code: "SELF_SIGNED_CERT_IN_CHAIN" }, "tls"],
  [{ code: "Z_DATA_ERROR" }, "malformed"],
  [{ code: "UND_ERR_HEADERS_OVERFLOW" }, "malformed"],
])("%j is a failure of the kind %s", (fields, kind) => {
  expect(findNetworkFailure(toError(fields))).toMatchObject({ code: fields.code, kind });
});

test("the first of several addresses is the reason, and an error without a code is unknown", () => {
  const errors = [Object.assign(new Error(), { code: "ECONNREFUSED" }), new Error()];

  expect(findNetworkFailure({ cause: { errors } })).toMatchObject({ code: "ECONNREFUSED", kind: "connect" });
  expect([
    findNetworkFailure(new TypeError("Failed to fetch")),
    findNetworkFailure({ code: "ConnectionRefused" }),
  ]).toEqual([undefined, undefined]);
});
