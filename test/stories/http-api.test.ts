import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MessageChannel } from "node:worker_threads";
import { buildCallHandler, OperationRegistry, PendingRequestMap, subscribe } from "@alkdev/operations";
import { FromOpenAPI, type OpenAPISpec } from "@alkdev/operations/from-openapi";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { afterAll, beforeAll, expect, test } from "vitest";

const pet = {
  type: "object",
  required: ["id", "name"],
  properties: { id: { type: "integer" }, name: { type: "string" } },
};
const json = (schema: unknown) => ({ "application/json": { schema } });
const page = { name: "page", in: "query", schema: { type: "integer" } };

const document = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "2.0.0" },
  components: { securitySchemes: { key: { type: "apiKey", in: "query", name: "key" } } },
  security: [{ key: [] }],
  paths: {
    "/pets": {
      get: {
        operationId: "listPets",
        parameters: [page],
        responses: { 200: { description: "Pets", content: json({ type: "array", items: pet }) } },
      },
    },
    "/pets/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      get: {
        operationId: "getPet",
        responses: {
          200: { description: "A pet", content: json(pet) },
          404: { description: "No such pet", content: json({ type: "object" }) },
        },
      },
    },
    "/pets/{id}/photo": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      post: {
        operationId: "addPhoto",
        requestBody: {
          required: true,
          content: {
            "multipart/form-data": {
              schema: { type: "object", properties: { file: { type: "string", format: "binary" } } },
            },
          },
        },
        responses: {
          201: { description: "Added", content: json({ type: "object", properties: { size: { type: "integer" } } }) },
        },
      },
    },
    "/news": {
      get: {
        operationId: "followNews",
        responses: { 200: { description: "News", content: { "text/event-stream": { schema: { type: "object" } } } } },
      },
    },
  },
};

let openStreams = 0;
let streamClosed: Promise<unknown> | undefined;

const server = createServer(async (request, response) => {
  const url = new URL(request.url!, "http://pets.test");
  const send = (status: number, body: unknown, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  if (url.searchParams.get("key") !== "secret-key") return send(401, { why: "no key" });
  if (url.pathname === "/pets") {
    const number = Number(url.searchParams.get("page") ?? 1);
    const headers =
      number < 3 ? { link: `<${url.pathname}?page=${number + 1}>; rel="next"` } : { link: '<?page=1>; rel="first"' };
    return send(200, [{ id: number, name: `Pet ${number}` }], headers);
  }
  if (url.pathname === "/pets/1") return send(200, { id: "1", name: "Ada", secret: true });
  if (url.pathname === "/pets/1/photo") {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = new Response(new Uint8Array(Buffer.concat(chunks)), {
      headers: { "content-type": request.headers["content-type"]! },
    });
    const file = (await body.formData()).get("file") as File;
    return send(201, { size: file.size });
  }
  if (url.pathname === "/news") {
    openStreams++;
    streamClosed = once(response, "close").then(() => openStreams--);
    response.writeHead(200, { "content-type": "text/event-stream" });
    return response.write('event: born\nid: 1\ndata: {"n":1}\n\ndata: {"n":2}\n\n');
  }
  send(404, { why: "no such pet" });
});

const registry = new OperationRegistry();

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const auth = { schemes: { key: { type: "apiKey" as const, token: "secret-key" } } };
  registry.registerAll(FromOpenAPI(document as unknown as OpenAPISpec, { namespace: "pets", baseUrl, auth }));
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

test("an imported operation returns an envelope that matches its schema", async () => {
  const { data, meta } = await registry.execute("pets.getPet", { id: 1 });

  expect(data).toEqual({ id: 1, name: "Ada" });
  expect(meta).toMatchObject({
    source: "http",
    statusCode: 200,
    drift: expect.arrayContaining([expect.objectContaining({ path: "/secret", kind: "stripped" })]),
  });
});

test("a declared error has its own code and the response in its details", async () => {
  await expect(registry.execute("pets.getPet", { id: 7 })).rejects.toMatchObject({
    code: "HTTP_404",
    message: "HTTP 404: Not Found",
    details: { status: 404, contentType: "application/json", body: { why: "no such pet" } },
    retryable: false,
  });
});

test("a client walks through all pages", async () => {
  const client = registry.client() as unknown as Record<
    string,
    Record<string, { pages(input: unknown): AsyncIterable<{ data: unknown }> }>
  >;
  const pages: unknown[] = [];

  for await (const { data } of client["pets"]!["listPets"]!.pages({})) pages.push(data);

  expect(pages).toEqual([[{ id: 1, name: "Pet 1" }], [{ id: 2, name: "Pet 2" }], [{ id: 3, name: "Pet 3" }]]);
});

test("a file is uploaded from its JSON form", async () => {
  const { data, meta } = await registry.execute("pets.addPhoto", {
    id: 1,
    body: { file: { base64: "aGVsbG8=", filename: "a.png" } },
  });

  expect([data, meta]).toMatchObject([{ size: 5 }, { statusCode: 201 }]);
});

test("a Blob is uploaded here, and refused with its path on the way to a worker", async () => {
  const { port1, port2 } = new MessageChannel();
  const worker = new PendingRequestMap(createWorkerTransport(port2));
  const caller = new PendingRequestMap(createWorkerTransport(port1));
  const stop = worker.handle(buildCallHandler({ registry, callMap: worker }));
  await stop.ready;
  const input = { id: 1, body: { file: new Blob(["hello"]) } };
  const file = new Uint8Array(await input.body.file.arrayBuffer());

  const direct = await registry.execute("pets.addPhoto", input);
  const refused = await caller.call("pets.addPhoto", input).catch((error) => error);
  const asBytes = await caller.call("pets.addPhoto", { id: 1, body: { file } });
  await Promise.all([caller.close(), worker.close()]);

  expect([direct.data, asBytes.data]).toEqual([{ size: 5 }, { size: 5 }]);
  expect(refused).toMatchObject({
    code: "EXECUTION_ERROR",
    details: { path: "/input/body/file" },
    mayHaveRun: false,
  });
});

test("a stream is followed live, and its connection closes when the reader stops", async () => {
  const seen: unknown[] = [];

  for await (const { data, meta } of subscribe(registry, "pets.followNews", {})) {
    seen.push([data, meta.source === "http" ? meta.event : undefined]);
    if (seen.length === 2) break;
  }

  expect(seen).toEqual([
    [{ n: 1 }, { type: "born", id: "1" }],
    [{ n: 2 }, { type: "message", id: "1" }],
  ]);
  await streamClosed;
  expect(openStreams).toBe(0);
});

test("a deadline ends a running call", async () => {
  await expect(registry.execute("pets.listPets", {}, { deadline: Date.now() - 1 })).rejects.toMatchObject({
    code: "TIMEOUT",
  });
  await expect(registry.execute("pets.listPets", {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "ABORTED",
  });
});
