import { afterAll, beforeEach, expect, test } from "vitest";
import { createRegistry, defineOperation, Type } from "../../src/index.ts";
import { listen } from "../../src/node/index.ts";
import { sendRaw } from "../../src/node/testing.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";

const starts: unknown[] = [];
const put = defineOperation({
  namespace: "note",
  name: "put",
  type: "mutation",
  inputSchema: Type.Unknown(),
  outputSchema: Type.String(),
  handler: (input) => {
    starts.push(input);
    return "stored";
  },
});
const registry = createRegistry({ operations: [put] });
const listener = await listen({ "/": serveHTTP(registry, { authenticate: "none" }) });
afterAll(() => listener.close());
beforeEach(() => void starts.splice(0));

const head = "POST /note/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
const smuggled =
  "POST /note/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n2";

/** Sends a request and closes the sending half of the connection. Returns the statuses of all responses. */
async function send(request: string): Promise<number[]> {
  const { socket, received } = sendRaw(listener.port, request);
  socket.end();
  return Array.from((await received).matchAll(/^HTTP\/1\.1 (\d+)/gm), ([, status]) => Number(status));
}

async function expectAlive(): Promise<void> {
  starts.length = 0;
  expect(await send(`${head}Content-Length: 1\r\nConnection: close\r\n\r\n1`)).toEqual([200]);
  expect(starts).toEqual([1]);
}

test.each([
  [
    "Content-Length and Transfer-Encoding",
    `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  [
    "Transfer-Encoding and Content-Length",
    `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ["two different lengths", `Content-Length: 1\r\nContent-Length: ${smuggled.length + 1}\r\n\r\n1${smuggled}`],
  ["the same length twice", `Content-Length: 1\r\nContent-Length: 1\r\n\r\n1${smuggled}`],
  ["a list of lengths", `Content-Length: 1, 1\r\n\r\n1${smuggled}`],
  ["a length with a sign", `Content-Length: +1\r\n\r\n1${smuggled}`],
  ["a negative length", `Content-Length: -1\r\n\r\n1${smuggled}`],
  ["an unknown encoding", `Transfer-Encoding: xchunked\r\n\r\n1\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["an encoding after chunked", `Transfer-Encoding: chunked, identity\r\n\r\n1\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["an encoding before chunked", `Transfer-Encoding: gzip, chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["chunked twice", `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["a space before the colon", `Transfer-Encoding : chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["a folded header", `X-A: a\r\n b\r\nContent-Length: 1\r\n\r\n1${smuggled}`],
  ["a folded Transfer-Encoding", `Transfer-Encoding:\r\n chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["a line that ends with CR", `X-A: a\rContent-Length: 1\r\n\r\n1${smuggled}`],
  ["a line that ends with LF", `X-A: a\nContent-Length: 1\r\n\r\n1${smuggled}`],
  ["a NUL character", `X-A: a\0b\r\nContent-Length: 1\r\n\r\n1${smuggled}`],
  ["a chunk size that is not a number", `Transfer-Encoding: chunked\r\n\r\nzz\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["a chunk size that overflows", `Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\n1\r\n0\r\n\r\n${smuggled}`],
  ["a chunk without its end", `Transfer-Encoding: chunked\r\n\r\n1\r\n1X\r\n0\r\n\r\n${smuggled}`],
  ["chunks that end with LF", `Transfer-Encoding: chunked\r\n\r\n1\n1\n0\n\n${smuggled}`],
  ["a second Host", `Host: localhost\r\nContent-Length: 1\r\n\r\n1${smuggled}`],
])("%s is refused, and neither the request nor what follows starts a call", async (_name, rest) => {
  expect(await send(head + rest)).toEqual([400]);
  expect(starts).toEqual([]);
  await expectAlive();
});

test.each([
  ["without a Host", "POST /note/put HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n1", [400]],
  [
    "with the URL of another host",
    `${head.replace("/note", "http://evil.test/note")}Content-Length: 1\r\nConnection: close\r\n\r\n1`,
    [400],
  ],
  ["that is not HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400]],
  ["in HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]],
  ["to be a proxy", "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", []],
  [
    "with chunks in HTTP/1.0",
    `${head.replace("1.1", "1.0")}Transfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n${smuggled}`,
    [400],
  ],
  ["with a body that is shorter than its length", `${head}Content-Length: 10\r\n\r\n1`, [400]],
])("a request %s is refused and starts no call", async (_name, request, statuses) => {
  expect(await send(request)).toEqual(statuses);
  expect(starts).toEqual([]);
  await expectAlive();
});

const mebibyte = " ".repeat(1024 * 1024);

test.each([
  ["a header of 40 KB", `${head}X-A: ${"a".repeat(40_000)}\r\n\r\n`, 431],
  ["a URL of 40 KB", `POST /${"a".repeat(40_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
  ["a URL of 17 KB", `POST /${"a".repeat(17_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414],
  ["201 headers", `${head}${"X-A: a\r\n".repeat(199)}\r\n`, 431],
  ["a body of 5 MB with its length", `${head}Content-Length: ${5 * mebibyte.length}\r\n\r\n${mebibyte.repeat(5)}`, 413],
  [
    "a body of 5 MB in chunks",
    `${head}Transfer-Encoding: chunked\r\n\r\n${`100000\r\n${mebibyte}\r\n`.repeat(5)}0\r\n\r\n`,
    413,
  ],
  ["a length of 9 PB", `${head}Content-Length: 9007199254740991\r\n\r\n1`, 413],
  [
    "a chunk extension of 20 KB",
    `${head}Transfer-Encoding: chunked\r\n\r\n1;${"a".repeat(20_000)}\r\n1\r\n0\r\n\r\n`,
    413,
  ],
  ["a compressed body", `${head}Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\n1`, 415],
])("%s is refused and starts no call", async (_name, request, status) => {
  const [first] = await send(request);

  expect(first).toBe(status);
  expect(starts).toEqual([]);
  await expectAlive();
});

test("a client that keeps sending a body that was refused is disconnected", async () => {
  const { socket, received } = sendRaw(listener.port, `${head}Content-Length: 9007199254740991\r\n\r\n`);
  const endless = () => {
    while (socket.writable && socket.write(mebibyte));
  };
  socket.on("drain", endless);
  endless();

  expect(await received).toMatch(/^HTTP\/1.1 413 /); // The server closes the connection.
  await expectAlive();
});
