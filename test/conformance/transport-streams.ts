import { expect } from "vitest";
import { deferred, sleep, subscription, withEnoughTime } from "../../src/call/testing.ts";
import { CallError } from "../../src/index.ts";
import type { TransportSuite } from "./transport-suite.ts";

/** What every transport does with subscriptions. */
export function checkStreams({ check, ask, serve }: TransportSuite): void {
  check("gives the values of a subscription in order and then its end", async () => {
    await serve([
      subscription("count", async function* ({ upTo }) {
        for (let n = 0; n < upTo; n++) yield n;
      }),
    ]);
    const calls = await ask();
    const values: unknown[] = [];

    for await (const { data } of calls.subscribe("test.count", { upTo: 500 })) values.push(data);

    expect(values).toEqual(Array.from({ length: 500 }, (_, n) => n));
    expect(calls.pendingCount).toBe(0);
  });

  check("gives the error of a subscription after its values", async () => {
    await serve([
      subscription("count", async function* () {
        yield 1;
        yield 2;
        throw new CallError("BROKEN", "It broke.");
      }),
    ]);
    const calls = await ask();
    const values: unknown[] = [];

    const error = await (async () => {
      for await (const { data } of calls.subscribe("test.count", {})) values.push(data);
    })().catch((problem) => problem);

    expect([values, error.code]).toEqual([[1, 2], "BROKEN"]);
  });

  check("keeps a producer no further ahead than its credit", async () => {
    let produced = 0;
    const ended = deferred<void>();
    await serve([
      subscription("count", async function* () {
        try {
          for (;;) {
            produced += 1;
            yield produced;
          }
        } finally {
          ended.resolve();
        }
      }),
    ]);
    const calls = await ask();
    const values = calls.subscribe("test.count", {});

    for (let n = 0; n < 100; n++) await values.next();
    await sleep(30);
    const ahead = produced - 100;
    await values.return!();

    expect(ahead).toBeGreaterThanOrEqual(0);
    expect(ahead).toBeLessThanOrEqual(65);
    await ended.promise;
  });

  check("keeps a producer no further ahead than its credit in bytes", async () => {
    let produced = 0;
    await serve([
      subscription("chunks", async function* (_, { signal }) {
        while (!signal.aborted) {
          produced += 1;
          yield { n: produced, text: "x".repeat(60_000) };
        }
      }),
    ]);
    const calls = await ask();
    const values = calls.subscribe("test.chunks", {});

    const numbers: unknown[] = [];
    for (let n = 0; n < 40; n++) numbers.push((await values.next()).value.data.n);
    await sleep(30);
    const ahead = produced - 40;
    await values.return!();

    expect(numbers).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
    expect(ahead).toBeGreaterThanOrEqual(0);
    expect(ahead).toBeLessThanOrEqual(19); // 18 of them fit into 1 MiB, and one more is on its way.
    expect(calls.pendingCount).toBe(0);
  });

  check("ends the producer when the consumer leaves", async () => {
    const ended = deferred<string>();
    await serve([
      subscription("ticks", async function* (_input, { signal }) {
        try {
          yield 0;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        } finally {
          ended.resolve(`aborted: ${signal.aborted}`);
        }
      }),
    ]);
    const calls = await ask();

    for await (const { data } of calls.subscribe("test.ticks", {})) {
      expect(data).toBe(0);
      break;
    }

    expect(await ended.promise).toBe("aborted: true");
    expect(calls.pendingCount).toBe(0);
  });

  check("fails a silent subscription with TIMEOUT", async () => {
    await serve([
      subscription("quiet", async function* (_input, { signal }) {
        yield 0;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
    ]);
    const calls = await ask();
    const heard: unknown[] = [];
    const error = await withEnoughTime(
      () => heard.length > 0,
      async (time) => {
        try {
          for await (const { data } of calls.subscribe("test.quiet", {}, { idleTimeout: time })) heard.push(data);
        } catch (problem) {
          return problem;
        }
      },
    );

    expect(heard).toEqual([0]);
    expect(error).toMatchObject({ code: "TIMEOUT" });
  });
}
