import { expect, onTestFinished, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../call/index.ts";
import { defineOperation, OperationType } from "../../operation/index.ts";
import { createRegistry } from "../../registry/index.ts";
import { startServer } from "./testing.ts";
import { createWebSocketTransport } from "./web-socket-client.ts";

const open = {
  version: "1.0.0",
  description: "",
  inputSchema: {},
  outputSchema: {},
  accessControl: { requiredScopes: [] },
};

/** A server that also serves `test.where`, which returns its name. */
async function startNamed(name: string, port = 0) {
  const server = await startServer({}, { port });
  const where = { ...open, namespace: name, name: "where", type: OperationType.QUERY, handler: () => name };
  const shared = { ...where, namespace: "shared" };
  const registry = createRegistry({ operations: [defineOperation(where), defineOperation(shared)] });
  await server.calls.handle(buildCallHandler({ registry, callMap: server.calls })).ready;
  onTestFinished(() => server.close());
  return server;
}

async function connectTo(...urls: string[]) {
  const calls = new PendingRequestMap(await createWebSocketTransport(urls, { reconnect: { first: 50, max: 50 } }));
  onTestFinished(() => calls.close());
  return calls;
}

test("calls that come one after the other go to idle servers in turn", async () => {
  const servers = await Promise.all([startNamed("a"), startNamed("b"), startNamed("c")]);
  const calls = await connectTo(...servers.map(({ url }) => url));

  const names: unknown[] = [];
  for (let n = 0; n < 6; n++) names.push((await calls.call("shared.where", {})).data);

  expect([...names.slice(0, 3)].sort()).toEqual(["a", "b", "c"]);
  expect(names.slice(3)).toEqual(names.slice(0, 3));
});

test("an operation that only a restarting server serves is unavailable, not unknown", async () => {
  const [first, second] = await Promise.all([startNamed("a"), startNamed("b")]);
  const calls = await connectTo(first.url, second.url);
  await expect(calls.call("b.missing", {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND", retryable: false });

  await second.close();
  const call = vi.waitFor(() =>
    expect(calls.call("b.where", {})).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      mayHaveRun: false,
    }),
  );

  await call;
  await expect(calls.call("b.missing", {})).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  expect((await calls.call("a.where", {})).data).toBe("a");
  await startNamed("b", second.port);
  await vi.waitFor(async () => expect((await calls.call("b.where", {})).data).toBe("b"));
});
