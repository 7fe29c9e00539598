import { Type } from "typebox";
import { expect, test, vi } from "vitest";
import type { HTTPServiceConfig } from "../config.ts";
import { failureOf, openEndpoint, pieces, startLive } from "./testing.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const texts = { outputSchema: Type.String() };

const drop = "UNAVAILABLE";

/** Follows a stream whose first response ends early after `before`, and returns the outcome. */
async function afterDrop(
  before: string,
  config: Partial<HTTPServiceConfig>,
  how: "destroy" | "end" = "destroy",
  method = "GET",
) {
  await using live = await startLive();
  const stream = openEndpoint({ baseUrl: live.server.origin, method, ...texts }, config);
  const data: unknown[] = [];
  const all = (async () => {
    for await (const envelope of stream) data.push(envelope.data);
    return "ended";
  })().catch((error: { code: string }) => error.code);
  const first = await live.answer();
  first.write(before);
  if (before.includes("data:")) await vi.waitUntil(() => data.length > 0);
  else await new Promise(setImmediate);
  if (how === "destroy") first.destroy();
  else first.end();
  const again = await Promise.race([live.answer(), all]);
  if (typeof again !== "string") again.end("data: after\n\ndata: [DONE]\n\n");
  const outcome = typeof again === "string" ? again : "again";
  await stream.return!();
  await all;
  return { outcome, ids: live.server.received.map(({ headers }) => headers["last-event-id"]) };
}

const soon = { delay: 1 };

test.each([
  ["not asked for: the drop is told", "id: 1\ndata: a\n\n", {}, "destroy", { outcome: drop, ids: [undefined] }],
  ["not asked for: the end is the end", "id: 1\ndata: a\n\n", {}, "end", { outcome: "ended", ids: [undefined] }],
  [
    "after a drop",
    "id: ü1\ndata: a\n\n",
    { reconnect: soon },
    "destroy",
    { outcome: "again", ids: [undefined, Buffer.from("ü1").toString("latin1")] },
  ],
  ["after an end", "id: 1\ndata: a\n\n", { reconnect: soon }, "end", { outcome: "again", ids: [undefined, "1"] }],
  [
    "at the server's pace",
    "retry: 1\nid: 1\ndata: a\n\n",
    { reconnect: { delay: 3_600_000 } },
    "destroy",
    { outcome: "again", ids: [undefined, "1"] },
  ],
  [
    "without ids: a gap is told",
    "data: a\n\n",
    { reconnect: soon },
    "destroy",
    { outcome: "STREAM_GAP", ids: [undefined] },
  ],
  [
    "with an id that no header can hold: a gap is told",
    "id: a\u0001b\ndata: a\n\n",
    { reconnect: soon },
    "destroy",
    { outcome: "STREAM_GAP", ids: [undefined] },
  ],
  [
    "with an id that would be cut: a gap is told",
    `id: ${"x".repeat(1025)}\ndata: a\n\n`,
    { reconnect: soon },
    "destroy",
    { outcome: "STREAM_GAP", ids: [undefined] },
  ],
  ["without ids: an end is an end", "data: a\n\n", { reconnect: soon }, "end", { outcome: "ended", ids: [undefined] }],
  [
    "without ids, where gaps are allowed",
    "data: a\n\n",
    { reconnect: { ...soon, allowGaps: true } },
    "destroy",
    { outcome: "again", ids: [undefined, undefined] },
  ],
  [
    "before anything came",
    ": hello\n\n",
    { reconnect: soon },
    "destroy",
    { outcome: "again", ids: [undefined, undefined] },
  ],
] as const)("reconnecting %s", async (_, before, config, how, expected) => {
  expect(await afterDrop(before, config, how)).toEqual(expected);
});

test("a server that sends retry: 0 and closes again and again is not flooded", async () => {
  vi.useFakeTimers();
  let connections = 0;
  const fetch: typeof globalThis.fetch = async () => {
    connections += 1;
    const body = `retry: 0\nid: ${connections}\ndata: a\n\n`;
    return new Response(encode(body), { headers: { "content-type": "text/event-stream" } });
  };
  const stream = openEndpoint(texts, { fetch, reconnect: true });
  const all = (async () => {
    for await (const _ of stream);
  })();

  await vi.advanceTimersByTimeAsync(10_000);
  const counted = connections;
  const left = stream.return!();
  await vi.runAllTimersAsync();
  await Promise.all([left, all]);
  vi.useRealTimers();

  // At least 500 ms apart.
  expect(counted).toBeGreaterThanOrEqual(16);
  expect(counted).toBeLessThanOrEqual(21);
});

test("a request that may not be sent twice is not sent again", async () => {
  expect(await afterDrop("id: 1\ndata: a\n\n", { reconnect: soon }, "destroy", "POST")).toMatchObject({
    outcome: "STREAM_GAP",
  });
});

test("reconnecting ends after a number of failed attempts in a row, and immediately on a refusal", async () => {
  let count = 0;
  const failing =
    (status: number): typeof fetch =>
    async () => {
      if (count++ > 0) return new Response(null, { status });
      return new Response(encode("id: 1\ndata: a\n\n"), { headers: { "content-type": "text/event-stream" } });
    };
  const tries = async (status: number) => {
    count = 0;
    const stream = openEndpoint(texts, { fetch: failing(status), reconnect: { attempts: 3, delay: 1 } });
    await stream.next();
    return [await failureOf(stream.next()), count];
  };

  expect(await tries(503)).toMatchObject([{ details: { status: 503 } }, 4]);
  expect(await tries(404)).toMatchObject([{ details: { status: 404 } }, 2]);
});

test("a consumer that leaves while the stream waits to reconnect ends the wait", async () => {
  const fetch = pieces("text/event-stream", encode("id: 1\ndata: a\n\n"));
  const stream = openEndpoint(texts, { fetch, reconnect: { delay: 3_600_000 } });
  await stream.next();

  const pending = stream.next();
  await new Promise(setImmediate);
  await stream.return!();

  expect(await pending).toEqual({ done: true, value: undefined });
});
