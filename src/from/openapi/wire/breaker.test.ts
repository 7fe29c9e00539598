import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { HTTPServiceConfig } from "../config.ts";
import { createEndpointHandler } from "../handler.ts";
import { callContext, endpointPlan, failureOf } from "./testing.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A service that responds with `status`, behind a breaker of three failures and one second. */
function service() {
  const state = { status: 503, sent: 0 };
  const config: HTTPServiceConfig = {
    namespace: "shop",
    breaker: { failures: 3, cooldown: 1000 },
    fetch: async () => {
      state.sent++;
      return new Response(null, { status: state.status });
    },
  };
  const call = async (baseUrl = "http://a.test") =>
    createEndpointHandler(endpointPlan({ baseUrl }), config).handler({}, callContext());
  const fail = async (times: number) => {
    for (let time = 0; time < times; time++) await call().catch(() => {});
  };
  return { state, call, fail };
}

const refusal = {
  code: "UNAVAILABLE",
  message: '"shop.op" was not called: its service failed 3 times in a row. Try again in 1000 ms.',
  details: { operationId: "shop.op", retryAfter: 1000 },
  retryable: true,
  mayHaveRun: false,
};

test("after a number of failures calls are refused, and other origins are not affected", async () => {
  const { state, call, fail } = service();

  await fail(3);
  const refused = await failureOf(call());
  const other = await failureOf(call("http://b.test"));

  expect(refused).toEqual(refusal);
  expect(other).toMatchObject({ details: { status: 503 } });
  expect(state.sent).toBe(4);
});

test("after the cooldown one call sees whether the service is back", async () => {
  const { state, call, fail } = service();
  await fail(3);

  vi.advanceTimersByTime(1000);
  const [probe, second] = await Promise.all([failureOf(call()), failureOf(call())]);
  vi.advanceTimersByTime(1000);
  state.status = 204;
  await call();
  await call();

  expect([probe, second]).toMatchObject([{ details: { status: 503 } }, { ...refusal, message: expect.any(String) }]);
  expect(state.sent).toBe(6);
});

test("an error response of the service does not count, and resets the count", async () => {
  const { state, fail } = service();

  await fail(2);
  state.status = 404;
  await fail(1);
  state.status = 503;
  await fail(2);

  expect(state.sent).toBe(5);
});
