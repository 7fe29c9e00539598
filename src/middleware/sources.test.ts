import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../call/index.ts";
import { FromOpenAPI } from "../from/openapi/index.ts";
import { CallError } from "../operation/index.ts";
import { OperationRegistry } from "../registry/index.ts";
import { operation } from "../registry/testing.ts";
import { createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import { circuitBreaker, concurrency, retry } from "./index.ts";

/** One operation, `test.echo`, that fails `failures` times and counts its runs, from one of several sources. */
interface Service extends AsyncDisposable {
  registry: OperationRegistry;
  state: { failures: number; runs: number; running: number; maxRunning: number };
}

async function run(state: Service["state"]): Promise<number> {
  state.runs += 1;
  state.maxRunning = Math.max(state.maxRunning, ++state.running);
  await new Promise((resolve) => setTimeout(resolve, 5));
  state.running -= 1;
  return state.runs;
}

async function handle(state: Service["state"]): Promise<number> {
  const number = await run(state);
  if (number <= state.failures) throw new CallError("UNAVAILABLE", "Not now.", undefined, { retryable: true });
  return number;
}

function newState(): Service["state"] {
  return { failures: 0, runs: 0, running: 0, maxRunning: 0 };
}

async function localService(): Promise<Service> {
  const state = newState();
  const registry = new OperationRegistry();
  registry.register(operation({ handler: () => handle(state) }));
  return { registry, state, [Symbol.asyncDispose]: () => registry.close() };
}

async function httpService(): Promise<Service> {
  const state = newState();
  const server = createServer(async (_request, response) => {
    const number = await run(state);
    response.writeHead(number <= state.failures ? 503 : 200, { "content-type": "application/json" });
    response.end(String(number));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const registry = new OperationRegistry();
  const document = {
    openapi: "3.1.0",
    paths: { "/": { get: { operationId: "echo", responses: { 200: { content: { "application/json": {} } } } } } },
  };
  registry.registerAll(FromOpenAPI(document, { namespace: "test", baseUrl: `http://127.0.0.1:${port}` }));
  return {
    registry,
    state,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await registry.close();
    },
  };
}

async function peerService(): Promise<Service> {
  const bus = new InProcessBus();
  const local = await localService();
  const served = new PendingRequestMap(createInProcessTransport(bus));
  served.handle(buildCallHandler({ registry: local.registry, callMap: served }));
  const registry = new OperationRegistry();
  const calls = new PendingRequestMap(createInProcessTransport(bus));
  await registry.follow(peerSource(calls));
  return {
    registry,
    state: local.state,
    async [Symbol.asyncDispose]() {
      await registry.close();
      await calls.close();
      await served.close();
    },
  };
}

describe.each([
  ["a local operation", localService],
  ["an HTTP endpoint", httpService],
  ["an operation of a peer", peerService],
])("%s", (_name, start) => {
  test("is repeated by retry", async () => {
    await using service = await start();
    service.state.failures = 2;
    service.registry.use(retry({ delay: 1 }), { include: ["test.*"] });

    const { data } = await service.registry.execute("test.echo", {});

    expect(data).toBe(3);
  });

  test("is refused by circuitBreaker", async () => {
    await using service = await start();
    service.state.failures = 10;
    service.registry.use(circuitBreaker({ failures: 2 }));

    for (let time = 0; time < 4; time++) await service.registry.execute("test.echo", {}).catch(() => {});

    expect(service.state.runs).toBe(2);
  });

  test("is limited by concurrency", async () => {
    await using service = await start();
    service.registry.use(concurrency({ limit: 2 }));

    await Promise.all(Array.from({ length: 6 }, () => service.registry.execute("test.echo", {})));

    expect(service.state).toMatchObject({ runs: 6, maxRunning: 2 });
  });

  test("passes through all three, retry outermost", async () => {
    await using service = await start();
    service.state.failures = 2;
    service.registry.use(retry({ delay: 1 }));
    service.registry.use(circuitBreaker());
    service.registry.use(concurrency({ limit: 1 }));

    const results = await Promise.all([1, 2, 3].map(() => service.registry.execute("test.echo", {})));

    expect(results).toHaveLength(3);
    expect(service.state).toMatchObject({ runs: 5, maxRunning: 1 });
  });
});
