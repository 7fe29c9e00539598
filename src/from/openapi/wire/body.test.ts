import { expect, test } from "vitest";
import type { BodyMediaPlan, EndpointPlan } from "../endpoint.ts";
import { callEndpoint, failureOf, type ReceivedRequest, startServer } from "./testing.ts";

const media = (mediaType: string, encoding: BodyMediaPlan["encoding"] = {}): BodyMediaPlan => ({ mediaType, encoding });

function planOf(types: Array<string | BodyMediaPlan>): Partial<EndpointPlan> {
  const list = types.map((type) => (typeof type === "string" ? media(type) : type));
  return { method: "POST", body: { argument: "body", required: true, media: list } };
}

/** Posts a body and returns what the server received. */
async function post(types: Array<string | BodyMediaPlan>, body: unknown, metadata = {}): Promise<ReceivedRequest> {
  await using server = await startServer();
  await callEndpoint({ ...planOf(types), baseUrl: server.origin }, { body }, {}, { metadata });
  return server.received[0]!;
}

async function summary(types: Array<string | BodyMediaPlan>, body: unknown): Promise<[string | undefined, string]> {
  const { headers, body: bytes } = await post(types, body);
  return [headers["content-type"], bytes.toString("utf8")];
}

test.each([
  ["application/json", { a: [1, null, "ü"] }, '{"a":[1,null,"ü"]}'],
  ["application/json", "text", '"text"'],
  ["application/json", 0, "0"],
  ["application/json", false, "false"],
  ["application/json", null, "null"],
  ["application/merge-patch+json", { a: null }, '{"a":null}'],
  ["text/plain", "hello", "hello"],
  ["text/plain", 5, "5"],
  ["application/xml", "<a>1</a>", "<a>1</a>"],
  ["application/octet-stream", "plain", "plain"],
  ["application/octet-stream", new Uint8Array([104, 105]), "hi"],
  ["application/octet-stream", new Uint8Array([104, 105]).buffer, "hi"],
  ["application/octet-stream", new Blob(["hi"], { type: "text/html" }), "hi"],
  ["application/octet-stream", { base64: "aGk=" }, "hi"],
])("%s of %o arrives as %s", async (type, body, expected) => {
  expect(await summary([type], body)).toEqual([type, expected]);
});

test.each<[string, unknown, string]>([
  ["application/json", { file: new Blob(["x"]) }, "JSON does not have a Blob"],
  ["application/json", { list: [new Map([["a", 1]])] }, "JSON does not have a Map; use an object or an array"],
  ["application/json", { bytes: new Uint8Array(2) }, "JSON does not have bytes; use base64"],
  ["*/*", { headers: new Headers() }, "JSON does not have a Headers"],
  ["multipart/form-data", { meta: { query: new URLSearchParams("a=1") } }, "JSON does not have an URLSearchParams"],
  ["application/x-www-form-urlencoded", { meta: { file: new Blob(["x"]) } }, "JSON does not have a Blob"],
])("%s refuses %o, of which JSON would lose the content", async (type, body, reason) => {
  await using server = await startServer();

  const error = await failureOf(callEndpoint({ ...planOf([type]), baseUrl: server.origin }, { body }));

  expect(error).toMatchObject({
    code: "VALIDATION_ERROR",
    message: `Cannot call "shop.op" because of its argument "body": it contains a value that cannot be sent: ${reason}.`,
    mayHaveRun: false,
  });
  expect(server.received).toEqual([]);
});

test("a wildcard type takes the type of the value", async () => {
  expect(await summary(["image/*"], { base64: "aGk=", type: "image/png" })).toEqual(["image/png", "hi"]);
  expect(await summary(["image/*"], new Blob(["hi"], { type: "text/html" }))).toEqual([
    "application/octet-stream",
    "hi",
  ]);
});

test("any type takes objects as JSON, text as text and binary values as they are", async () => {
  expect(await summary(["*/*"], { a: 1 })).toEqual(["application/json", '{"a":1}']);
  expect(await summary(["*/*"], "hi")).toEqual(["text/plain", "hi"]);
  expect(await summary(["application/*"], new Uint8Array([104, 105]))).toEqual(["application/octet-stream", "hi"]);
  expect(await summary([], [1])).toEqual(["application/json", "[1]"]);
});

test("a QUERY has a body", async () => {
  await using server = await startServer();

  await callEndpoint({ ...planOf(["application/json"]), baseUrl: server.origin, method: "QUERY" }, { body: { a: 1 } });

  expect(server.received.map(({ method, body }) => [method, body.toString()])).toEqual([["QUERY", '{"a":1}']]);
});

test("a stream is sent chunk by chunk", async () => {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("piece by "));
      controller.enqueue(new TextEncoder().encode("piece"));
      controller.close();
    },
  });

  const { headers, body } = await post(["application/octet-stream"], stream);

  expect([headers["transfer-encoding"], body.toString()]).toEqual(["chunked", "piece by piece"]);
});

test("a form repeats arrays, writes objects as JSON and leaves absent members out", async () => {
  const body = { name: "a b&c=d", list: [1, "x"], object: { k: [1] }, gone: undefined, none: null, zero: 0, empty: "" };

  expect(await summary(["application/x-www-form-urlencoded"], body)).toEqual([
    "application/x-www-form-urlencoded",
    "name=a+b%26c%3Dd&list=1&list=x&object=%7B%22k%22%3A%5B1%5D%7D&zero=0&empty=",
  ]);
});

test("a form follows the encoding of each property", async () => {
  const encoding = {
    csv: { style: "form", explode: false },
    deep: { style: "deepObject", explode: true },
    spread: { style: "form", explode: true },
    url: { allowReserved: true },
  };

  const [, text] = await summary([media("application/x-www-form-urlencoded", encoding)], {
    csv: ["a", "b"],
    deep: { x: { y: 1 } },
    spread: { p: 1, q: 2 },
    url: "http://h/?a=1",
  });

  expect(text).toBe("csv=a%2Cb&deep%5Bx%5D%5By%5D=1&p=1&q=2&url=http://h/?a=1");
});

/** The parts of a multipart body, by the boundary in its content type. */
function partsOf({ headers, body }: ReceivedRequest): Array<{ head: string[]; content: string }> {
  const boundary = /boundary=(.+)$/.exec(headers["content-type"]!)![1]!;
  const parts = body.toString("latin1").split(`--${boundary}`);
  expect(parts[0]).toBe("");
  expect(parts.at(-1)).toBe("--\r\n");
  return parts.slice(1, -1).map((part) => {
    const [head = "", ...rest] = part.slice(2).split("\r\n\r\n");
    return { head: head.split("\r\n"), content: rest.join("\r\n\r\n").slice(0, -2) };
  });
}

test("multipart has a part per property and per file, with their types", async () => {
  const encoding = { meta: { contentType: "application/vnd.x+json" }, photo: { contentType: "image/png, image/jpeg" } };
  const request = await post([media("multipart/form-data", encoding)], {
    title: "Hi",
    count: 3,
    meta: { a: 1 },
    other: { b: 2 },
    photo: new File(["png"], "p.png", { type: "image/jpeg" }),
    files: [{ base64: "aGk=", filename: "a.txt", type: "text/plain" }, new Uint8Array([33])],
    gone: undefined,
  });

  expect(partsOf(request)).toEqual([
    { head: ['Content-Disposition: form-data; name="title"'], content: "Hi" },
    { head: ['Content-Disposition: form-data; name="count"'], content: "3" },
    {
      head: ['Content-Disposition: form-data; name="meta"', "Content-Type: application/vnd.x+json"],
      content: '{"a":1}',
    },
    { head: ['Content-Disposition: form-data; name="other"', "Content-Type: application/json"], content: '{"b":2}' },
    {
      head: ['Content-Disposition: form-data; name="photo"; filename="p.png"', "Content-Type: image/jpeg"],
      content: "png",
    },
    {
      head: ['Content-Disposition: form-data; name="files"; filename="a.txt"', "Content-Type: text/plain"],
      content: "hi",
    },
    {
      head: ['Content-Disposition: form-data; name="files"; filename="blob"', "Content-Type: application/octet-stream"],
      content: "!",
    },
  ]);
});

test("quotes and line ends in names add neither a part nor a header", async () => {
  const evil = 'x"; filename="y"\r\nX-Admin: 1\r\n\r\n--boundary';

  const request = await post(["multipart/form-data"], { [evil]: "a", file: { base64: "aGk=", filename: evil } });

  const parts = partsOf(request);
  expect(parts.map(({ head }) => head.length)).toEqual([1, 2]);
  expect(parts[0]!.head[0]).toBe(
    'Content-Disposition: form-data; name="x%22; filename=%22y%22%0D%0AX-Admin: 1%0D%0A%0D%0A--boundary"',
  );
  const received = await new Response(new Uint8Array(request.body), {
    headers: { "content-type": request.headers["content-type"]! },
  }).formData();
  expect([...received.keys()]).toHaveLength(2);
});

test("a part carries the headers that the document declares and no others", async () => {
  const headers = { "X-Part": {}, "X-Fixed": { schema: { const: "f" } }, "Content-Type": { schema: { const: "no" } } };
  const file = { base64: "aGk=", filename: "a", headers: { "x-part": "v", "X-Else": "no" } };

  const request = await post([media("multipart/form-data", { file: { headers } })], { file });

  expect(partsOf(request)[0]!.head).toEqual([
    'Content-Disposition: form-data; name="file"; filename="a"',
    "Content-Type: application/octet-stream",
    "X-Part: v",
    "X-Fixed: f",
  ]);
});

test("a line end in a file's type or in a part's header is refused", async () => {
  const encoding = { file: { headers: { "X-Part": {} } } };
  const plan = planOf([media("multipart/form-data", encoding)]);
  const files = [
    { base64: "", type: "a/b\r\nX: 1" },
    { base64: "", headers: { "X-Part": "a\r\nX: 1" } },
  ];

  for (const file of files) {
    expect(await failureOf(callEndpoint(plan, { body: { file } }))).toMatchObject({
      code: "VALIDATION_ERROR",
      mayHaveRun: false,
    });
  }
});

test("styled multipart properties spread over parts", async () => {
  const encoding = { deep: { style: "deepObject" }, csv: { style: "form", explode: false } };

  const request = await post([media("multipart/form-data", encoding)], { deep: { a: 1 }, csv: [1, 2] });

  expect(partsOf(request)).toEqual([
    { head: ['Content-Disposition: form-data; name="deep[a]"'], content: "1" },
    { head: ['Content-Disposition: form-data; name="csv"'], content: "1,2" },
  ]);
});

test("a FormData and a stream inside it are sent as multipart", async () => {
  const form = new FormData();
  form.append("a", "1");
  form.append("f", new File(["hi"], "n.txt", { type: "text/plain" }));

  expect(partsOf(await post(["multipart/form-data"], form)).map(({ content }) => content)).toEqual(["1", "hi"]);
  const stream = new Blob(["streamed"]).stream();
  expect(partsOf(await post(["multipart/form-data"], { f: stream })).map(({ content }) => content)).toEqual([
    "streamed",
  ]);
});

test.each([
  [["application/json", "multipart/form-data"], { file: new Uint8Array([1]) }, "multipart/form-data"],
  [["application/json", "multipart/form-data"], { file: { base64: "" } }, "multipart/form-data"],
  [["application/json", "multipart/form-data"], { a: 1 }, "application/json"],
  [["application/x-www-form-urlencoded", "application/json"], { a: 1 }, "application/x-www-form-urlencoded"],
  [["application/x-www-form-urlencoded", "application/json"], [1], "application/json"],
  [["application/json", "application/octet-stream"], new Uint8Array(1), "application/octet-stream"],
  [["application/xml", "application/json"], { a: 1 }, "application/json"],
  [["application/xml", "application/json"], "<a/>", "application/xml"],
])("of %j the value %o takes %s", async (types, body, expected) => {
  const { headers } = await post(types, body);

  expect(headers["content-type"]!.split(";")[0]).toBe(expected);
});

test("metadata can choose among the declared types, but not another", async () => {
  const types = ["application/json", "application/x-www-form-urlencoded"];

  const { body } = await post(types, { a: 1 }, { http: { contentType: "application/x-www-form-urlencoded" } });
  const failure = await failureOf(
    callEndpoint(planOf(types), { body: {} }, {}, { metadata: { http: { contentType: "text/html" } } }),
  );

  expect(body.toString()).toBe("a=1");
  expect(failure).toMatchObject({ code: "VALIDATION_ERROR" });
});

const cycle: Record<string, unknown> = { secret: "canary" };
cycle["self"] = cycle;

test.each([
  ["application/json", cycle, "contains a value that cannot be sent: it contains itself"],
  ["application/json", { a: 1n }, "cannot be sent: JSON does not have integers of this size; use a string"],
  ["application/json", () => {}, "cannot be sent: JSON does not have values of type function"],
  ["application/json", { a: Number.NaN }, "cannot be sent: JSON does not have NaN"],
  ["application/xml", { a: 1 }, "must be a string to be sent as application/xml"],
  ["application/x-www-form-urlencoded", "canary", "must be an object to be sent as a form"],
  ["multipart/form-data", "canary", "must be an object to be sent as multipart"],
  ["multipart/form-data", { f: { base64: "canary!" } }, "contains a file whose base64 is not valid"],
  ["application/octet-stream", { a: "canary" }, "must be binary"],
  ["application/octet-stream", { base64: "canary!" }, "contains a file whose base64 is not valid"],
])("%s of %o is refused: it %s", async (type, body, reason) => {
  const failure = await failureOf(callEndpoint(planOf([type]), { body }));

  expect(failure).toMatchObject({
    code: "VALIDATION_ERROR",
    mayHaveRun: false,
    details: { errors: [{ path: "/body" }] },
  });
  expect((failure as Error).message).toContain(reason);
  expect(JSON.stringify(failure)).not.toContain("canary");
});

test("a missing required body is refused; an optional one is omitted", async () => {
  await using server = await startServer();
  const plan = { ...planOf(["application/json"]), baseUrl: server.origin };

  const failure = await failureOf(callEndpoint(plan));
  await callEndpoint({ ...plan, body: { ...plan.body!, required: false } });

  expect(failure).toMatchObject({ code: "VALIDATION_ERROR" });
  expect(server.received.map(({ headers }) => headers["content-type"])).toEqual([undefined]);
});

test("DELETE sends a body; GET refuses one, since fetch cannot send it, and works without", async () => {
  await using server = await startServer();
  const plan = { ...planOf(["application/json"]), baseUrl: server.origin };

  await callEndpoint({ ...plan, method: "DELETE" }, { body: [1] });
  const failure = await failureOf(callEndpoint({ ...plan, method: "GET" }, { body: [1] }));
  await callEndpoint({ ...plan, method: "GET" });

  expect(failure).toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining("GET") });
  expect(server.received.map(({ method, body }) => [method, body.toString()])).toEqual([
    ["DELETE", "[1]"],
    ["GET", ""],
  ]);
});

test("defaults of a body never replace values of the caller", async () => {
  await using server = await startServer();
  const plan = { ...planOf(["application/json"]), baseUrl: server.origin, bodyDefaults: { stream: true } };
  const optional = { ...plan, body: { ...plan.body!, required: false } };

  await callEndpoint(plan, { body: { a: 1 } });
  await callEndpoint(plan, { body: { a: 1, stream: undefined } });
  await callEndpoint(plan, { body: { stream: false } });
  await callEndpoint(plan, { body: [1] });
  await callEndpoint(optional);
  const failure = await failureOf(callEndpoint(plan));

  expect(server.received.map(({ body }) => JSON.parse(body.toString()))).toEqual([
    { stream: true, a: 1 },
    { stream: true, a: 1 },
    { stream: false },
    [1],
    { stream: true },
  ]);
  expect(failure).toMatchObject({ code: "VALIDATION_ERROR" });
});
