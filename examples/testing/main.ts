// #region operation
import { defineOperation, Type } from "@alkdev/operations";

const place = defineOperation({
  namespace: "order",
  name: "place",
  type: "mutation",
  description: "Places an order",
  inputSchema: Type.Object({ item: Type.String(), count: Type.Integer({ minimum: 1 }) }),
  outputSchema: Type.Object({ total: Type.Number() }),
  errors: { SOLD_OUT: Type.Object({ left: Type.Integer() }) },
  accessControl: { requiredScopes: ["order:write"] },
  handler: async ({ item, count }, { call, errors }) => {
    const { price, left } = await call<{ price: number; left: number }>("shop.getItem", { item });
    if (left < count) throw errors.SOLD_OUT({ left });
    return { total: price * count };
  },
});

// #endregion operation

// #region stub
import assert from "node:assert/strict";
import { test } from "node:test";
import { CallError, createRegistry, isDeclaredError } from "@alkdev/operations";

/** A registry with the operation under test and a stub of the HTTP API that it calls. */
function createTestRegistry(getItem: () => { price: number; left: number }) {
  const stub = defineOperation({
    namespace: "shop",
    name: "getItem",
    type: "query",
    inputSchema: Type.Object({ item: Type.String() }),
    outputSchema: Type.Object({ price: Type.Number(), left: Type.Integer() }),
    outputPolicy: "strict",
    handler: getItem,
  });
  return createRegistry({ operations: [place, stub] });
}

const identity = { id: "ada", scopes: ["order:write"] };

test("an order returns its total", async () => {
  const registry = createTestRegistry(() => ({ price: 12, left: 5 }));

  const { data } = await registry.execute("order.place", { item: "lamp", count: 2 }, { identity });

  assert.deepEqual(data, { total: 24 });
});
// #endregion stub

// #region errors
test("an order fails when too few items are left", async () => {
  const registry = createTestRegistry(() => ({ price: 12, left: 1 }));

  const call = registry.execute("order.place", { item: "lamp", count: 2 }, { identity });

  const error = await call.then(
    () => assert.fail("The call was expected to fail."),
    (error: unknown) => error,
  );
  assert(isDeclaredError(error, place, "SOLD_OUT"));
  assert.deepEqual(error.details, { left: 1 });
});

test("an order without the scope never reaches the handler", async () => {
  const registry = createTestRegistry(() => assert.fail("The shop was called."));

  await assert.rejects(registry.execute("order.place", { item: "lamp", count: 1 }), {
    code: "ACCESS_DENIED",
    mayHaveRun: false,
  });
});

test("an order of nothing is invalid", async () => {
  const registry = createTestRegistry(() => assert.fail("The shop was called."));

  await assert.rejects(registry.execute("order.place", { item: "lamp", count: 0 }, { identity }), {
    code: "VALIDATION_ERROR",
    message: 'Invalid input of "order.place": /count must be >= 1.',
  });
});

test("an order fails with the error of a shop that is down", async () => {
  const registry = createTestRegistry(() => {
    throw new CallError("UNAVAILABLE", "The shop is down.", undefined, { retryable: true });
  });

  await assert.rejects(registry.execute("order.place", { item: "lamp", count: 1 }, { identity }), {
    code: "UNAVAILABLE",
    retryable: true,
  });
});
// #endregion errors

// #region calls
test("an order requests its item from the shop once", async () => {
  const registry = createTestRegistry(() => ({ price: 12, left: 5 }));
  const calls: string[] = [];
  registry.on("call", ({ kind, operationId }) => {
    if (kind === "started") calls.push(operationId);
  });

  await registry.execute("order.place", { item: "lamp", count: 1 }, { identity });

  assert.deepEqual(calls, ["order.place", "shop.getItem"]);
});
// #endregion calls

// #region subscription
let open = 0; // the countdowns that run

const countdown = defineOperation({
  namespace: "sale",
  name: "countdown",
  type: "subscription",
  description: "Emits the minutes until the sale begins",
  inputSchema: Type.Object({ minutes: Type.Integer() }),
  outputSchema: Type.Integer(),
  handler: async function* ({ minutes }) {
    open++;
    try {
      for (let left = minutes; left > 0; left--) yield left;
    } finally {
      open--;
    }
  },
});

test("a countdown ends when its consumer leaves", async () => {
  const registry = createRegistry({ operations: [countdown] });
  const received: number[] = [];

  for await (const { data } of registry.subscribe("sale.countdown", { minutes: 60 })) {
    received.push(data);
    if (received.length === 3) break;
  }

  assert.deepEqual(received, [60, 59, 58]);
  assert.equal(open, 0);
});

// #endregion subscription

// #region fetch
import { openAPISource } from "@alkdev/operations/from-openapi";

const document = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1.0.0" },
  paths: {
    "/items/{item}": {
      get: {
        operationId: "getItem",
        parameters: [{ name: "item", in: "path", required: true, schema: { type: "string" } }],
        responses: {
          200: { description: "The item", content: { "application/json": { schema: { type: "object" } } } },
        },
      },
    },
  },
};

test("an order sends the request that the document describes", async () => {
  const requested: string[] = [];
  const fetch = async (input: string | URL | Request) => {
    requested.push(input instanceof Request ? input.url : String(input));
    return Response.json({ price: 12, left: 5 });
  };
  await using registry = createRegistry({ operations: [place] });
  await registry.follow(openAPISource(document, { namespace: "shop", baseUrl: "https://shop.test", fetch }));

  const { data } = await registry.execute("order.place", { item: "lamp", count: 2 }, { identity });

  assert.deepEqual(data, { total: 24 });
  assert.deepEqual(requested, ["https://shop.test/items/lamp"]);
});
// #endregion fetch
