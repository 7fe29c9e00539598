import fc from "fast-check";
import { expect, test } from "vitest";
import { type CallError, OperationRegistry, type ResponseEnvelope } from "../index.ts";
import { countCases } from "../internal/testing.ts";
import { createEventTargetTransport, createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import type { Transport } from "../transport/transport.ts";
import { buildCallHandler, PendingRequestMap } from "./index.ts";
import { operation, subscription } from "./testing.ts";

/** What can happen to a call, each in the turn of the event loop that the schedule sets. */
interface Schedule {
  /** Microtask turns until the handler returns; `never` if it does not. */
  answer: number | "never" | "throws";
  /** Turns until the caller aborts. */
  abort: number | "never";
  /** Turns until a side closes its map. */
  close: number | "never";
  who: "caller" | "server";
  /** Whether the deadline is past when the call is made. */
  isLate: boolean;
  isAuthenticated: boolean;
}

const turn = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 8 }), weight: 3 },
  { arbitrary: fc.constant("never"), weight: 1 },
);
const schedules: fc.Arbitrary<Schedule> = fc.record({
  answer: fc.oneof(turn, fc.constant("throws")) as fc.Arbitrary<Schedule["answer"]>,
  abort: turn as fc.Arbitrary<number | "never">,
  close: turn as fc.Arbitrary<number | "never">,
  who: fc.constantFrom("caller", "server"),
  isLate: fc.boolean(),
  isAuthenticated: fc.boolean(),
});

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await undefined;
}

const networks: Record<string, () => () => Transport> = {
  "in process": () => {
    const bus = new InProcessBus();
    return () => createInProcessTransport(bus);
  },
  "over an EventTarget": () => {
    const target = new EventTarget();
    return () => createEventTargetTransport(target);
  },
};

for (const [name, createNetwork] of Object.entries(networks)) {
  test(`whatever order abort, answer, deadline and close come in, a call ends once and right, ${name}`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(schedules, { minLength: 1, maxLength: 4 }), async (calls) => {
        const join = createNetwork();
        const [asking, serving] = [new PendingRequestMap(join()), new PendingRequestMap(join())];
        const starts = new Map<number, number>();
        const over = new Set<number>();
        const late: number[] = [];
        const registry = new OperationRegistry();
        registry.register(
          operation("run", async ({ nonce, answer }: { nonce: number; answer: Schedule["answer"] }) => {
            if (over.has(nonce)) late.push(nonce);
            starts.set(nonce, (starts.get(nonce) ?? 0) + 1);
            if (answer === "throws") throw new Error("thrown");
            if (answer === "never") await new Promise(() => {});
            else await turns(answer);
            return { nonce };
          }),
        );
        const authenticate = () => turns(2).then(() => undefined);
        serving.handle(buildCallHandler({ registry, callMap: serving, authenticate }));

        const outcomes = calls.map(async ({ answer, abort, close, who, isLate, isAuthenticated }, nonce) => {
          const controller = new AbortController();
          let settled = 0;
          const call = asking.call<{ nonce: number }>(
            "test.run",
            { nonce, answer },
            {
              signal: controller.signal,
              ...(isLate ? { deadline: Date.now() - 1 } : {}),
              ...(isAuthenticated ? { token: "t" } : {}),
            },
          );
          const outcome = call.then(
            (envelope) => {
              settled += 1;
              return envelope;
            },
            (error: CallError) => {
              settled += 1;
              return error;
            },
          );
          if (abort !== "never") {
            void turns(abort).then(() => {
              over.add(nonce);
              controller.abort();
            });
          }
          if (close !== "never") void turns(close).then(() => (who === "caller" ? asking : serving).close());
          // A handler that never returns ends with the map at the latest.
          await turns(60);
          if (settled === 0) await asking.close();
          const result = await outcome;
          await turns(20);
          expect(settled).toBe(1); // I1
          expect(starts.get(nonce) ?? 0).toBeLessThanOrEqual(1); // I3
          if ("data" in result)
            expect((result as ResponseEnvelope<{ nonce: number }>).data.nonce).toBe(nonce); // I4
          else {
            expect(["ABORTED", "TIMEOUT", "UNAVAILABLE", "EXECUTION_ERROR", "OPERATION_NOT_FOUND"]).toContain(
              result.code,
            );
            if (!result.mayHaveRun) expect(starts.get(nonce) ?? 0).toBe(0); // I5
          }
          if (isLate) expect(result).toMatchObject({ code: "TIMEOUT", mayHaveRun: false });
        });
        await Promise.all(outcomes);

        expect(late).toEqual([]); // I2: no start after an abort
        expect(asking.pendingCount).toBe(0);
        await asking.close();
        await serving.close();
      }),
      { numRuns: countCases(500) },
    );
  });
}

test("whatever a consumer does, it receives a part of the values in order, and the producer ends", async () => {
  const consumer = fc.record({
    produced: fc.constantFrom(0, 1, 3, 12, 64, 65, 150),
    /** Number of values that are requested together, each time. */
    asks: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 5 }),
    end: fc.constantFrom("return", "abort", "drain", "close"),
  });
  await fc.assert(
    fc.asyncProperty(consumer, async ({ produced, asks, end }) => {
      const calls = new PendingRequestMap();
      let open = 0;
      const registry = new OperationRegistry();
      registry.register(
        subscription("count", async function* () {
          open += 1;
          try {
            for (let n = 0; n < produced; n++) yield n;
          } finally {
            open -= 1;
          }
        }),
      );
      calls.handle(buildCallHandler({ registry, callMap: calls }));
      const controller = new AbortController();
      const values = calls.subscribe<number>("test.count", {}, { signal: controller.signal });

      const got: number[] = [];
      for (const many of asks) {
        const results = await Promise.all(Array.from({ length: many }, () => values.next()));
        for (const result of results) if (!result.done) got.push(result.value.data);
      }
      if (end === "return") await values.return!();
      if (end === "abort") controller.abort();
      if (end === "close") await calls.close();
      if (end === "drain") for await (const { data } of values) got.push(data);
      await turns(40);

      const expected =
        end === "drain"
          ? produced
          : Math.min(
              produced,
              asks.reduce((sum, many) => sum + many, 0),
            );
      expect(got).toEqual(Array.from({ length: expected }, (_, n) => n));
      expect([open, calls.pendingCount]).toEqual([0, 0]);
      await calls.close();
    }),
    { numRuns: countCases(250) },
  );
});
