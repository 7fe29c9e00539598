import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { callEndpoint, failureOf, startRawServer } from "./testing.ts";

const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const good = `${head}Content-Length: 2\r\n\r\n{}`;

/** Calls twice: the server responds with `first`, then with a valid response. */
async function callTwice(first: string, method = "GET"): Promise<unknown[]> {
  let asked = 0;
  await using server = await startRawServer((socket) => {
    socket.write(asked++ === 0 ? first : good);
  });
  const call = () => callEndpoint({ baseUrl: server.origin, method });
  return [(await call()).data, (await call()).data];
}

test.each([
  ["204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", undefined],
  ["early hints before the answer", `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${good}`, {}],
  ["trailers", `${head}Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\n{}\r\n0\r\nX: 1\r\n\r\n`, {}],
  ["a response without a request", `${good}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON`, {}],
  ["a byte order mark", `${head}Content-Length: 5\r\n\r\n\ufeff{}`, {}],
  ["its type twice", `${head}${good.slice(good.indexOf("\r\n") + 2)}`, {}],
])("%s does no harm, and the next call gets its own response", async (_name, first, data) => {
  expect(await callTwice(first)).toEqual([data, {}]);
});

test("HEAD has no data, whatever length it declares and whatever follows", async () => {
  const first = `${head}Content-Length: 999999999\r\n\r\n{}`;

  expect((await callTwice(first, "HEAD"))[0]).toBeUndefined();
});

test("304 is an error like any other status", async () => {
  await using server = await startRawServer((socket) => {
    socket.write("HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n");
  });

  expect(await failureOf(callEndpoint({ baseUrl: server.origin }))).toMatchObject({
    code: "EXECUTION_ERROR",
    message: "HTTP 304: Not Modified",
  });
});

test("headers without end are a bad response, and their connection closes", async () => {
  const closed: Array<Promise<unknown>> = [];
  const pour = (socket: Socket) => {
    while (!socket.destroyed && socket.write(`X-Y: ${"a".repeat(1000)}\r\n`));
    if (!socket.destroyed) socket.once("drain", () => pour(socket));
  };
  await using server = await startRawServer((socket) => {
    closed.push(new Promise((resolve) => socket.once("close", resolve)));
    socket.write(head);
    pour(socket);
  });

  const failure = await failureOf(callEndpoint({ baseUrl: server.origin }));

  expect(failure).toMatchObject({ code: "BAD_RESPONSE", retryable: false });
  await Promise.all(closed);
});
