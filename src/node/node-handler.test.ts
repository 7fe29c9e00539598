import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import fastify from "fastify";
import { afterEach, expect, test } from "vitest";
import { toNodeHandler } from "./node-handler.ts";
import { createDescribingServer } from "./testing.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(listener: RequestListener | Server): Promise<string> {
  const server = typeof listener === "function" ? createServer(listener) : listener;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function post(url: string, body: string, type = "application/json"): Promise<unknown> {
  const response = await fetch(url, { method: "POST", body, headers: { "content-type": type, connection: "close" } });
  return response.json();
}

const described = { name: "api", method: "POST", body: '{"a":1}', remoteAddress: "127.0.0.1" };

test("handles requests of node:http", async () => {
  const url = await serve(toNodeHandler(createDescribingServer("api")));

  expect(await post(`${url}/x?y=1`, '{"a":1}')).toEqual({ ...described, url: "/x?y=1" });
});

test("a path can be passed", async () => {
  const url = await serve(toNodeHandler(createDescribingServer("api"), { basePath: "/api" }));

  expect(await post(`${url}/api/x`, '{"a":1}')).toEqual({ ...described, url: "/api/x", basePath: "/api" });
});

test("knows the path at which Express mounted it, in nested routers too", async () => {
  const urls: unknown[] = [];
  const router = express.Router();
  router.use("/api", toNodeHandler(createDescribingServer("api")));
  const app = express();
  app.use((request, response, next) => {
    response.on("finish", () => urls.push(request.url));
    next();
  });
  app.use("/v1", router);
  const url = await serve(app);

  expect(await post(`${url}/v1/api/x?y=1`, '{"a":1}')).toEqual({
    ...described,
    url: "/v1/api/x?y=1",
    basePath: "/v1/api",
  });
  expect(await post(`${url}/v1/api`, '{"a":1}')).toEqual({ ...described, url: "/v1/api", basePath: "/v1/api" });
  expect(urls).toEqual(["/x?y=1", "/"]); // as Express has set them
});

test("restores a body that express.json() or express.raw() has read", async () => {
  const app = express();
  app.use("/json", express.json(), toNodeHandler(createDescribingServer("api")));
  app.use("/raw", express.raw({ type: "*/*" }), toNodeHandler(createDescribingServer("api")));
  const url = await serve(app);

  expect(await post(`${url}/json`, ' {"a": 1}')).toMatchObject({ body: '{"a":1}' });
  expect(await post(`${url}/raw`, ' {"a": 1}')).toMatchObject({ body: ' {"a": 1}' });
  expect(await (await fetch(`${url}/json`)).json()).toMatchObject({ method: "GET", body: "" });
});

test("a body that was read and is lost is an error that names the solution", async () => {
  const app = express();
  app.use(express.text({ type: "*/*" }), toNodeHandler(createDescribingServer("api")));
  const url = await serve(app);

  expect(await post(url, "hello", "text/plain")).toEqual({
    title: "Internal Server Error",
    status: 500,
    detail: "The body was read before the request reached toNodeHandler(). Mount it before parsers of bodies.",
  });
});

test("handles requests of Fastify in a scope without parsers of bodies", async () => {
  const handler = toNodeHandler(createDescribingServer("api"), { basePath: "/api" });
  const app = fastify({ forceCloseConnections: true });
  closing.push(() => app.close());
  app.register(
    async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, _body, done) => done(null));
      scope.all("/*", (request, reply) => {
        reply.hijack();
        handler(request.raw, reply.raw);
      });
    },
    { prefix: "/api" },
  );
  const url = await app.listen({ port: 0, host: "127.0.0.1" });

  expect(await post(`${url}/api/x`, '{"a":1}')).toEqual({ ...described, url: "/api/x", basePath: "/api" });
});
