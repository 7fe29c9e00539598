import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { afterEach, expect, test } from "vitest";
import { type FetchServer, listen, toNodeHandler } from "../../src/node/index.ts";
import { createMountServer } from "../support/mount-server.ts";
import { expectedMountStory, runMountStory } from "../support/mount-story.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function createServerOfStory(): FetchServer {
  const server = createMountServer();
  closing.push(() => server.close());
  return server;
}

async function start(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.closeAllConnections() ?? server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the root of listen()", async () => {
  await using listener = await listen({ "/": createServerOfStory() });

  expect(await runMountStory(listener.url)).toEqual(expectedMountStory);
});

test("a path of listen()", async () => {
  await using listener = await listen({ "/api": createServerOfStory() });

  expect(await runMountStory(`${listener.url}/api`)).toEqual(expectedMountStory);
});

test("node:http", async () => {
  const url = await start(toNodeHandler(createServerOfStory()));

  expect(await runMountStory(url)).toEqual(expectedMountStory);
});

test("Express", async () => {
  const app = express();
  app.use("/api", toNodeHandler(createServerOfStory()));
  const url = await start(app);

  expect(await runMountStory(`${url}/api`)).toEqual(expectedMountStory);
});

test("Express, after express.json()", async () => {
  const app = express();
  app.use(express.json());
  app.use("/api", toNodeHandler(createServerOfStory()));
  const url = await start(app);

  expect(await runMountStory(`${url}/api`)).toEqual(expectedMountStory);
});

test("Fastify", async () => {
  const handler = toNodeHandler(createServerOfStory(), { basePath: "/api" });
  const app = fastify({ forceCloseConnections: true });
  closing.push(() => app.close());
  await app.register(
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

  expect(await runMountStory(`${url}/api`)).toEqual(expectedMountStory);
});

test("Hono", async () => {
  const server = createServerOfStory();
  const app = new Hono();
  app.all("/api/*", (context) => server.fetch(context.req.raw, { basePath: "/api" }));
  const listening = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1", overrideGlobalObjects: false });
  await once(listening, "listening");
  closing.push(() => listening.close());

  expect(await runMountStory(`http://127.0.0.1:${(listening.address() as AddressInfo).port}/api`)).toEqual(
    expectedMountStory,
  );
});
