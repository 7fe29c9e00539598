import { afterEach, expect, test, vi } from "vitest";
import type { HTTPServiceConfig } from "../config.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { createEndpointHandler } from "../handler.ts";
import { callContext, callEndpoint, endpointPlan, failureOf } from "./testing.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A fetch that responds with the statuses in turn, then with 200. */
function scripted(...answers: Array<number | [status: number, retryAfter: string] | Error>) {
  const calls: number[] = [];
  const fetchNext: typeof fetch = async () => {
    calls.push(Date.now());
    const answer = answers[calls.length - 1] ?? 200;
    if (answer instanceof Error) throw answer;
    const [status, after] = Array.isArray(answer) ? answer : [answer];
    return new Response("{}", {
      status,
      headers: { "content-type": "application/json", ...(after && { "retry-after": after }) },
    });
  };
  return { fetch: fetchNext, calls };
}

const lost = new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) });
const neverSent = new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) });

/** Runs a call to its end with fake timers and returns how often it was sent. */
async function tries(
  script: ReturnType<typeof scripted>,
  plan: Partial<EndpointPlan> = {},
  retry: HTTPServiceConfig["retry"] = true,
  more: Partial<HTTPServiceConfig> = {},
): Promise<number> {
  vi.useFakeTimers();
  const call = callEndpoint(plan, {}, { retry, fetch: script.fetch, ...more }).catch(() => {});
  await vi.runAllTimersAsync();
  await call;
  return script.calls.length;
}

test.each([
  ["off by default", scripted(503), {}, false, 1],
  ["until it goes well", scripted(503, 429), {}, true, 3],
  ["twice", scripted(503, 503, 503, 503), {}, true, 3],
  ["as often as configured", scripted(503, 503), {}, { retries: 1 }, 2],
  ["after a lost connection", scripted(lost), {}, true, 2],
  ["not for an error that would come again", scripted(404), {}, true, 1],
  ["not for a mutation that may have run", scripted(503), { method: "POST" }, true, 1],
  ["not for a mutation that was lost", scripted(lost), { method: "POST" }, true, 1],
  ["for a mutation that did not run", scripted(429, neverSent), { method: "POST" }, true, 3],
  ["for an idempotent mutation", scripted(503), { method: "PUT", idempotent: true }, true, 2],
] as const)("retries: %s", async (_, script, plan, retry, expected) => {
  expect(await tries(script, plan, retry)).toBe(expected);
});

test("Retry-After decides the wait, as seconds or as a date", async () => {
  vi.useFakeTimers({ now: new Date("2030-01-01T00:00:00Z") });
  const script = scripted([503, "3"], [503, "Tue, 01 Jan 2030 00:00:10 GMT"]);

  await tries(script);

  expect(script.calls.map((time) => time - script.calls[0]!)).toEqual([0, 3000, 10_000]);
});

test.each(["0", "Tue, 01 Jan 2020 00:00:00 GMT"])("Retry-After %s does not shorten the wait", async (after) => {
  const script = scripted([503, after], [503, after]);

  await tries(script);

  const waits = script.calls.slice(1).map((time, index) => time - script.calls[index]!);
  expect(waits[0]).toBeGreaterThanOrEqual(50);
  expect(waits[1]).toBeGreaterThanOrEqual(100);
});

test("a delay longer than the maximum, or than the time left, is not made", async () => {
  expect(await tries(scripted([503, "31"]))).toBe(1);
  expect(await tries(scripted([503, "5"]), {}, true, { timeout: 5000 })).toBe(1);
});

test("the wait doubles and is reduced by at most half", async () => {
  const script = scripted(503, 503);

  await tries(script);

  const [first, second] = script.calls.slice(1).map((time, index) => time - script.calls[index]!);
  expect(first).toBeGreaterThanOrEqual(50);
  expect(first).toBeLessThanOrEqual(100);
  expect(second).toBeGreaterThanOrEqual(100);
  expect(second).toBeLessThanOrEqual(200);
});

test("when everything fails, retries stay a small share of all calls", async () => {
  vi.useFakeTimers();
  const script = scripted(...Array.from({ length: 1000 }, () => 503));
  const config: HTTPServiceConfig = { namespace: "shop", retry: true, fetch: script.fetch };

  const calls = Array.from({ length: 200 }, () =>
    Promise.resolve(createEndpointHandler(endpointPlan(), config).handler({}, callContext())).catch(() => {}),
  );
  await vi.runAllTimersAsync();
  await Promise.all(calls);

  expect(script.calls.length).toBe(210);
});

test("a stream as body is never sent a second time", async () => {
  const plan = {
    method: "PUT",
    idempotent: true,
    body: { argument: "body", required: true, media: [{ mediaType: "application/octet-stream", encoding: {} }] },
  };
  const script = scripted(503);

  vi.useFakeTimers();
  const call = failureOf(callEndpoint(plan, { body: new Blob(["x"]).stream() }, { retry: true, fetch: script.fetch }));
  await vi.runAllTimersAsync();

  expect(await call).toMatchObject({ details: { status: 503 }, retryable: false });
  expect(script.calls).toHaveLength(1);
});

test("an abort during the delay ends it immediately", async () => {
  const controller = new AbortController();
  const script = scripted([503, "20"]);
  const watching: typeof fetch = async (...given) => {
    setTimeout(() => controller.abort(), 0);
    return script.fetch(...given);
  };

  const failure = await failureOf(
    callEndpoint({}, {}, { retry: true, fetch: watching }, { signal: controller.signal }),
  );

  expect(failure).toMatchObject({ code: "ABORTED" });
});
