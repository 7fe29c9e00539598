import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { FromOpenAPI, FromOpenAPIFile, FromOpenAPIUrl } from "./from-openapi.ts";
import { openAPI, openAPIWith, plain } from "./testing.ts";

const quiet = { namespace: "test", onReport: () => {} };
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a document as an object becomes operations with handlers", () => {
  const operations = FromOpenAPI(openAPI(), quiet);

  expect(operations.map(({ namespace, name, handler }) => [namespace, name, typeof handler])).toEqual([
    ["test", "list", "function"],
  ]);
});

test.each([
  ["application/json", JSON.stringify(openAPI({ servers: [{ url: "/v1" }] }))],
  ["application/yaml", 'openapi: "3.1.0"\nservers: [{ url: /v1 }]\npaths: { /things: { get: { operationId: list } } }'],
  ["application/octet-stream", JSON.stringify(openAPI({ servers: [{ url: "/v1" }] }))],
  ["text/plain", JSON.stringify(openAPI({ servers: [{ url: "/v1" }] }))],
])("a document served as %s is read, and its relative server is the one it came from", async (type, text) => {
  const origin = await listen((_request, response) => response.setHeader("content-type", type).end(text));

  const operations = await FromOpenAPIUrl(`${origin}/docs/openapi?format=raw`, quiet);

  expect(operations.map(({ name, _meta }) => [name, _meta])).toMatchObject([
    ["list", { openapi: { server: `${origin}/v1` } }],
  ]);
});

test("the credential goes with the document to its own service only", async () => {
  const seen: Array<string | undefined> = [];
  const origin = await listen((request, response) => {
    seen.push(request.headers.authorization);
    response.setHeader("content-type", "application/json").end(JSON.stringify(openAPI()));
  });
  const auth = { type: "bearer", token: "t0k3n" } as const;

  await FromOpenAPIUrl(origin, { ...quiet, auth, baseUrl: origin });
  await FromOpenAPIUrl(origin, { ...quiet, auth, baseUrl: "https://api.test" });
  await FromOpenAPIUrl(origin, { ...quiet, auth, baseUrl: "https://api.test", allowedOrigins: [origin] });

  expect(seen).toEqual(["Bearer t0k3n", undefined, "Bearer t0k3n"]);
});

test("an error status, a redirect to another origin and a response that is not a document are typed errors", async () => {
  const target = await listen((_request, response) => response.end("{}"));
  const origin = await listen((request, response) => {
    if (request.url?.startsWith("/missing")) response.writeHead(404).end("nothing here");
    else if (request.url === "/moved") response.writeHead(302, { location: "/doc" }).end();
    else if (request.url === "/away") response.writeHead(302, { location: target }).end();
    else if (request.url?.startsWith("/page"))
      response.setHeader("content-type", "text/html").end("<html><body>Hi</body></html>");
    else response.setHeader("content-type", "application/json").end(JSON.stringify(openAPI()));
  });

  await expect(FromOpenAPIUrl(`${origin}/missing?key=s3cr3t`, quiet)).rejects.toMatchObject({
    code: "EXECUTION_ERROR",
    message: `The OpenAPI document at ${origin}/missing cannot be fetched. HTTP 404: Not Found`,
    details: { status: 404 },
  });
  await expect(FromOpenAPIUrl("http://127.0.0.1:1/doc?key=s3cr3t", quiet)).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message:
      'The OpenAPI document cannot be fetched. The request of "GET http://127.0.0.1:1/doc" failed: fetch blocks connections to port 1.',
  });
  await expect(FromOpenAPIUrl(`${origin}/away`, quiet)).rejects.toMatchObject({ name: "CallError" });
  await expect(FromOpenAPIUrl(`${origin}/page?key=s3cr3t`, quiet)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: `The OpenAPI document cannot be read: ${origin}/page is a web page, not a document in JSON or YAML. Pass the URL of the document.`,
  });
  await expect(FromOpenAPIUrl(`${origin}/moved`, quiet)).resolves.toHaveLength(1);
});

test("size and time are limited, the size by decoded bytes", async () => {
  const origin = await listen((request, response) => {
    if (request.url === "/never") return;
    const body = gzipSync(Buffer.alloc(1_000_000, "a"));
    response.writeHead(200, { "content-encoding": "gzip", "content-type": "text/yaml" }).end(body);
  });

  await expect(
    FromOpenAPIUrl(`${origin}/bomb`, { ...quiet, limits: { documentBytes: 100_000 } }),
  ).rejects.toMatchObject({
    code: "PAYLOAD_TOO_LARGE",
  });
  await expect(FromOpenAPIUrl(`${origin}/never`, { ...quiet, timeout: 20 })).rejects.toMatchObject({ code: "TIMEOUT" });
});

test.each(["file:///etc/passwd", "data:application/json,{}", "not a url", "http://user:pw@127.0.0.1/"])(
  "%s is not a URL of a document",
  async (url) => {
    await expect(FromOpenAPIUrl(url, quiet)).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  },
);

test("a file is read by Node, or by a custom file system", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openapi-"));
  await writeFile(
    join(folder, "api.yaml"),
    'openapi: "3.1.0"\nservers: [{ url: https://x.test }]\npaths: { /a: { get: {} } }',
  );

  const byNode = await FromOpenAPIFile(join(folder, "api.yaml"), quiet);
  const tooLarge = FromOpenAPIFile(join(folder, "api.yaml"), { ...quiet, limits: { documentBytes: 10 } });
  await expect(tooLarge).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  const byOwn = await FromOpenAPIFile("api.json", quiet, {
    readFile: async (path) => JSON.stringify(openAPI({ info: { title: path } })),
  });
  await rm(folder, { recursive: true });

  expect(byNode.map(({ name }) => name)).toEqual(["get_a"]);
  expect(byOwn.map(({ name }) => name)).toEqual(["list"]);
});

test("without Node, a file needs a file system, and the message explains it", async () => {
  const lookup = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined);

  const failure = FromOpenAPIFile("api.json", quiet);
  const given = FromOpenAPIFile("api.json", quiet, { readFile: async () => JSON.stringify(openAPI()) });

  await expect(failure).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: "No file system is available in this environment. Pass one as the third argument, `fs`.",
  });
  await expect(given).resolves.toHaveLength(1);
  lookup.mockRestore();
});

test("a file that cannot be read is a typed error that names it", async () => {
  const missing = join(tmpdir(), "no-such-folder", "api.json");

  await expect(FromOpenAPIFile(missing, quiet)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: `The OpenAPI document cannot be read: ENOENT: no such file or directory, open '${missing}'.`,
    mayHaveRun: false,
  });
});

test.skipIf(process.platform === "win32")("a pipe and a device are refused without waiting for them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openapi-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const pipe = join(folder, "api.json");
  const makePipe = "mkfifo"; // It is part of the system.
  execFileSync(makePipe, [pipe]);

  for (const path of [pipe, "/dev/zero"]) {
    await expect(FromOpenAPIFile(path, quiet)).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message: "The OpenAPI document cannot be read: it is not a file but a device or a pipe.",
    });
  }
});

test("references to other files are followed only when they are named", async () => {
  const files: Record<string, string> = {
    "api/main.json": JSON.stringify(
      openAPIWith({
        responses: { 200: { content: { "application/json": { schema: { $ref: "shared.json#/Pet" } } } } },
      }),
    ),
    "api/shared.json": JSON.stringify({
      Pet: { type: "object", properties: { tag: { $ref: "#/Tag" } } },
      Tag: { type: "string" },
    }),
  };
  const read: string[] = [];
  const fs = {
    readFile: async (path: string) => {
      read.push(path);
      return files[path] ?? Promise.reject(new Error(`no ${path}`));
    },
  };

  const refused = await FromOpenAPIFile("api/main.json", quiet, fs);
  const other = await FromOpenAPIFile("api/main.json", { ...quiet, externalRefs: { files: ["other.json"] } }, fs);
  expect([refused, other]).toEqual([[], []]);
  expect(read).toEqual(["api/main.json", "api/main.json"]);

  const [operation] = await FromOpenAPIFile(
    "api/main.json",
    { ...quiet, externalRefs: { files: ["shared.json"] } },
    fs,
  );
  expect(read.slice(2)).toEqual(["api/main.json", "api/shared.json"]);
  expect(plain(operation?.outputSchema)).toEqual({
    $ref: "#/$defs/Pet",
    $defs: { Pet: { type: "object", properties: { tag: { $ref: "#/$defs/Tag" } } }, Tag: { type: "string" } },
  });
});

test("references to other hosts are followed only when they are named, without credentials", async () => {
  const seen: string[] = [];
  const shared = await listen((request, response) => {
    seen.push(`${request.url} ${request.headers.authorization}`);
    response.setHeader("content-type", "application/json").end(JSON.stringify({ Id: { type: "integer" } }));
  });
  const schema = { $ref: `${shared}/shared.json#/Id` };
  const spec = openAPIWith({ responses: { 200: { content: { "application/json": { schema } } } } });
  const origin = await listen((_request, response) =>
    response.setHeader("content-type", "application/json").end(JSON.stringify(spec)),
  );
  const config = { ...quiet, baseUrl: origin, auth: { type: "bearer", token: "t0k3n" } } as const;
  const { host } = new URL(shared);

  const refused = await FromOpenAPIUrl(origin, config);
  const wrongHost = await FromOpenAPIUrl(origin, {
    ...config,
    externalRefs: { hosts: ["127.0.0.1", `${host}.evil.test`] },
  });
  expect([refused, wrongHost, seen]).toEqual([[], [], []]);

  const [operation] = await FromOpenAPIUrl(origin, { ...config, externalRefs: { hosts: [host] } });
  expect(seen).toEqual(["/shared.json undefined"]);
  expect(plain(operation?.outputSchema)).toMatchObject({ $defs: { Id: { type: "integer" } } });
});

test.each([{ hosts: "schemas.example.test" }, { files: "/srv/pet.json" }, { files: [1] }])(
  "externalRefs of another shape are refused: %j",
  async (externalRefs) => {
    const fs = { readFile: async () => JSON.stringify(openAPI()) };
    const config = { ...quiet, externalRefs: externalRefs as object };

    await expect(FromOpenAPIFile("/srv/openapi.json", config, fs)).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message: expect.stringMatching(/^externalRefs\.(hosts|files) must be an array of strings\.$/),
    });
  },
);

test("an invalid namespace is refused, and names of the document are adapted", () => {
  const spec = openAPI({
    paths: {
      "/a": { get: { operationId: "a\ud800b" } },
      "/b": { get: { operationId: `${"x".repeat(246)}😀${"y".repeat(20)}` } },
    },
  });
  const names = FromOpenAPI(spec, quiet).map(({ name }) => name);

  expect(() => FromOpenAPI(spec, { ...quiet, namespace: "a\ud800" })).toThrow("no lone surrogate");
  expect(names).toEqual(["a_b", expect.stringMatching(/^x{246}_[0-9a-f]{8}$/)]);
});

test("a document is not fetched for a namespace that is missing or invalid", async () => {
  const fetch = vi.fn<typeof globalThis.fetch>();

  for (const namespace of [undefined, "", "a.b"]) {
    const importing = FromOpenAPIUrl("https://api.example.com/openapi.json", { namespace: namespace as string, fetch });
    await expect(importing).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message: "namespace must have 1 to 64 characters, no dot, no control character and no lone surrogate.",
      mayHaveRun: false,
    });
  }
  expect(fetch).not.toHaveBeenCalled();
});

test("a configuration is required", () => {
  expect(() => FromOpenAPI(openAPI(), undefined as never)).toThrow("FromOpenAPI() takes an object, not undefined.");
});

test.each([
  ["auth", { type: "baerer", token: "s3cret" }],
  ["auth", "s3cret"],
  ["auth", null],
  ["auth.schemes.key", { schemes: { key: { type: "api-key", token: "s3cret" } } }],
])("%s with an unknown type is refused, without its secret: %j", (option, auth) => {
  const message = `${option} must have the type "bearer", "apiKey", "basic" or "oauth2": { type: "bearer", token }.`;

  expect(() => FromOpenAPI(openAPI(), { ...quiet, auth: auth as never })).toThrow(
    expect.objectContaining({ code: "VALIDATION_ERROR", message }),
  );
});
