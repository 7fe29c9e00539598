import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  FromOpenAPI,
  type HTTPServiceConfig,
  OperationRegistry,
  type SourceReport,
  subscribe,
} from "../../src/index.ts";

const canary = "canary/+=5678";
/** The secret as it is, in a URL, in base64 and as JSON of some servers writes it. */
const spellings = [
  canary,
  encodeURIComponent(canary),
  Buffer.from(`user:${canary}`).toString("base64"),
  canary.replaceAll("/", "\\/"),
];

let server: Server;
let origin: string;
let logged: LogRecord[];

beforeEach(async () => {
  logged = [];
  await configure({
    reset: true,
    sinks: { memory: (record) => logged.push(record) },
    loggers: [
      { category: ["alkdev"], sinks: ["memory"], lowestLevel: "trace" },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
  server = createServer((request, response) => {
    if (request.url === "/token") return void response.end(JSON.stringify({ access_token: canary }));
    const status = Number(new URL(request.url!, "http://h").searchParams.get("status"));
    const token = request.headers.authorization?.split(" ")[1];
    const said = JSON.stringify({ url: request.url, headers: request.headers, token });
    const isBroken = status === 299;
    response.writeHead(isBroken ? 200 : status, `said ${request.headers["x-api-key"] ?? ""}`.trim(), {
      "content-type": request.url!.startsWith("/stream") && status === 200 ? "text/event-stream" : "application/json",
      link: `<${request.url}&page=2>; rel="next"`,
      location: `http://evil.test${request.url}`,
      "x-echo": inspect(request.headers, { breakLength: Number.POSITIVE_INFINITY }),
    });
    // The body of a success does not contain the request: it is data of the service, and stays unchanged.
    response.end(status === 200 ? "{}" : isBroken ? `broken ${said}` : said);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await reset();
  server.closeAllConnections();
  server.close();
});

const status = { name: "status", in: "query", schema: { type: "integer" } };
const answers = (type: string) => ({ "200": { description: "", content: { [type]: { schema: { type: "object" } } } } });
const document = {
  openapi: "3.1.0",
  info: { title: "Echo", version: "1.0.0" },
  paths: {
    "/echo": { get: { operationId: "echo", parameters: [status], responses: answers("application/json") } },
    "/stream": { get: { operationId: "stream", parameters: [status], responses: answers("text/event-stream") } },
  },
};

test.each<[string, (at: string) => Partial<HTTPServiceConfig>]>([
  ["a bearer token", () => ({ auth: { type: "bearer", token: canary } })],
  ["a password", () => ({ auth: { type: "basic", username: "user", password: canary } })],
  ["a ready basic credential", () => ({ auth: { type: "basic", token: spellings[2]! } })],
  ["a key in a header", () => ({ auth: { type: "apiKey", token: canary } })],
  ["a key in the query", () => ({ auth: { type: "apiKey", in: "query", name: "key", token: canary } })],
  ["a key in a cookie", () => ({ auth: { type: "apiKey", in: "cookie", name: "key", token: canary } })],
  ["a configured credential", () => ({ headers: { Authorization: `Bearer ${canary}` } })],
  ["a configured cookie", () => ({ headers: { cookie: `a=1; session=${canary}` } })],
  ["a configured header", () => ({ headers: { "X-Api-Key": canary } })],
  [
    "a client's secret and its token",
    (at) => ({ auth: { type: "oauth2", tokenUrl: `${at}/token`, clientId: "user", clientSecret: canary } }),
  ],
])("%s is in no error, log, event, envelope, report or spec", async (_name, credential) => {
  const seen: unknown[] = [];
  const registry = new OperationRegistry();
  registry.on("call", (event) => seen.push(event));
  const onReport = (report: SourceReport) => seen.push(report);
  registry.registerAll(FromOpenAPI(document, { namespace: "api", baseUrl: origin, onReport, ...credential(origin) }));

  for (const code of [200, 299, 302, 400, 401, 403, 500, 503]) {
    const call = registry.execute("api.echo", { status: code });
    seen.push(await call.catch((error: Error) => [error, error.stack, error.cause, JSON.stringify(error)]));
    const stream = subscribe(registry, "api.stream", { status: code });
    seen.push(await stream.next().catch((error: Error) => [error, error.stack, error.cause, JSON.stringify(error)]));
  }
  seen.push(registry.getAllSpecs(), logged);

  const text = inspect(seen, { depth: 20, maxArrayLength: null, maxStringLength: null });
  expect(spellings.filter((spelling) => text.includes(spelling))).toEqual([]);
  expect(text).toContain("[redacted]");
});

test("a URL with a password in it is refused without being repeated", () => {
  const baseUrl = `http://user:${encodeURIComponent(canary)}@127.0.0.1/`;
  const attempt = () => FromOpenAPI(document, { namespace: "api", baseUrl });

  expect(attempt).toThrow("baseUrl must not contain credentials. Use auth.");
  const reports: SourceReport[] = [];
  FromOpenAPI(
    {
      ...document,
      servers: [{ url: "http://ok.test" }],
      paths: { "/a": { servers: [{ url: baseUrl }], get: {} }, "/b": { get: {} } },
    },
    { namespace: "api", onReport: (report) => reports.push(report) },
  );
  expect(inspect([reports, logged], { depth: 5 })).not.toContain("canary");
  expect(reports.map(({ skipped }) => skipped.length)).toEqual([1]);
});
