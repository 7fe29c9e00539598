import { expect } from "vitest";
import type { PendingRequestMap } from "../../src/call/index.ts";
import { deferred, operation, requested, sleep, subscription, until, withEnoughTime } from "../../src/call/testing.ts";
import { CallError } from "../../src/index.ts";
import type { CallRequested, ReplyFrame, Transport } from "../../src/transport/transport.ts";
import type { TransportSuite } from "./transport-suite.ts";

/** What every transport does when handlers, callers and peers behave badly. */
export function checkFaults({ check, ask, serve, rawCaller, network }: TransportSuite): void {
  check("settles 10,000 concurrent calls and leaves nothing pending", async () => {
    await serve([operation("echo", (input) => input)]);
    const calls = await ask();

    const answers = await Promise.all(Array.from({ length: 10_000 }, (_, n) => calls.call("test.echo", n)));

    expect(answers.every(({ data }, n) => data === n)).toBe(true);
    expect([calls.pendingCount, calls.ignoredCount]).toEqual([0, 0]);
  });

  check("refuses one call more than may be pending immediately, without running it", async () => {
    const release = deferred<void>();
    let starts = 0;
    await serve([
      operation("wait", async () => {
        starts += 1;
        await release.promise;
      }),
    ]);
    const calls = await ask({ limits: { pendingCalls: 100 } });
    const pending = Array.from({ length: 100 }, () => calls.call("test.wait", {}));

    const error = await calls.call("test.wait", {}).catch((problem) => problem);
    release.resolve();
    await Promise.all(pending);

    expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", mayHaveRun: false });
    expect(starts).toBe(100);
    expect((await calls.call("test.wait", {})).data).toBeUndefined();
  });

  check("reports the end of a call once, whatever its handler does later", async () => {
    const late = deferred<void>();
    let hasBegun = false;
    const aborted = deferred<void>();
    const untilAborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener("abort", resolve));
    await serve([
      operation("late", async (_input, { signal }) => {
        hasBegun = true;
        await untilAborted(signal);
        await sleep(20);
        late.resolve();
        return "too late";
      }),
      operation("throws", async (_input, { signal }) => {
        await untilAborted(signal);
        aborted.resolve();
        throw new Error("too late");
      }),
      operation("echo", (input) => input),
    ]);
    const calls = await ask();
    const controller = new AbortController();

    const first = withEnoughTime(
      () => hasBegun,
      (time) => calls.call("test.late", {}, { deadline: Date.now() + time }).catch(({ code }) => code),
    );
    const second = calls.call("test.throws", {}, { signal: controller.signal }).catch(({ code }) => code);
    await calls.call("test.echo", 1);
    controller.abort();
    const ends = await Promise.all([first, second]);
    await Promise.all([late.promise, aborted.promise]);

    expect((await calls.call("test.echo", 2)).data).toBe(2);
    expect(ends).toEqual(["TIMEOUT", "ABORTED"]);
    expect(calls.pendingCount).toBe(0);
  });

  check("accepts a deadline in the year 9999, and refuses one that is not a time", async () => {
    let starts = 0;
    await serve([operation("count", () => ++starts)]);
    const calls = await ask();
    const attempt = (deadline: unknown) =>
      calls.call("test.count", {}, { deadline: deadline as number }).then(
        () => "answered",
        ({ code, mayHaveRun }) => `${code} ${mayHaveRun}`,
      );

    const answered = await attempt(Date.UTC(9999, 11, 31));
    const refused = [await attempt(Number.NaN), await attempt("soon"), await attempt(-1), await attempt(5_000)];

    expect(answered).toBe("answered");
    expect(refused).toEqual([
      "VALIDATION_ERROR false",
      "VALIDATION_ERROR false",
      "TIMEOUT false",
      "VALIDATION_ERROR false",
    ]);
    expect(starts).toBe(1);
  });

  check("conveys no trust, wherever a request claims it", async () => {
    let starts = 0;
    const admin = operation("admin", () => ++starts);
    await serve([{ ...admin, accessControl: { requiredScopes: ["admin"] } }], { trustedBus: false });
    const caller = await rawCaller();
    const trust = { trusted: true, isTrusted: true, internal: true, context: { trusted: true } };
    const request = requested("test.admin", {});

    const replies = [
      await lastReply(caller, { ...request, ...trust }),
      await lastReply(caller, { ...request, requestId: "input", input: trust }),
      await lastReply(caller, { ...request, requestId: "metadata", metadata: trust }),
      await lastReply(caller, { ...request, requestId: "parent", parentRequestId: "trusted" }),
    ];

    expect(replies).toMatchObject(Array.from(replies, () => ({ type: "call.error", code: "ACCESS_DENIED" })));
    expect(starts).toBe(0);
  });

  check("runs the finally of a producer whose consumer leaves between two values or while it waits", async () => {
    const ended: string[] = [];
    await serve([
      subscription("busy", async function* () {
        try {
          for (let n = 0; ; n++) yield n;
        } finally {
          ended.push("busy");
        }
      }),
      subscription("quiet", async function* (_input, { signal }) {
        try {
          yield 0;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        } finally {
          ended.push("quiet");
        }
      }),
    ]);
    const calls = await ask();

    for (const name of ["test.busy", "test.quiet"]) {
      const values = calls.subscribe(name, {});
      await values.next();
      const waiting = name === "test.quiet" ? values.next() : undefined;
      await values.return?.();
      expect(await waiting).toEqual(name === "test.quiet" ? { done: true, value: undefined } : undefined);
    }

    await until(() => ended.length === 2);
    expect(new Set(ended)).toEqual(new Set(["busy", "quiet"]));
  });

  check("can be closed by the handler that it runs", async () => {
    const closed = deferred<void>();
    let serving: PendingRequestMap | undefined;
    const { map } = await serve([
      operation("close", async () => {
        await serving!.close();
        closed.resolve();
        throw new CallError("LATE", "No caller receives this.");
      }),
    ]);
    serving = map;
    const calls = await ask();

    const error = await calls.call("test.close", {}).catch((problem) => problem);

    await closed.promise;
    expect(error).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    await expect(calls.call("test.close", {}, { deadline: Date.now() + 500 })).rejects.toBeInstanceOf(CallError);
  });

  check("settles calls that are made while it is being closed", async () => {
    await serve([operation("echo", (input) => input), operation("hang", () => new Promise(() => {}))]);
    const calls = await ask();
    await calls.call("test.echo", 1);
    const pending = calls.call("test.hang", {}).catch(({ code }) => code);

    const closing = calls.close();
    const late = calls.call("test.echo", 2).catch(({ code, mayHaveRun }) => `${code} ${mayHaveRun}`);
    const again = calls.close();
    await Promise.all([closing, again]);

    expect([await pending, await late]).toEqual(["UNAVAILABLE", "UNAVAILABLE false"]);
    expect(calls.pendingCount).toBe(0);
  });

  check("can be closed while its link is being restored", async () => {
    await serve([operation("echo", (input) => input)]);
    const calls = await ask();
    await calls.call("test.echo", 1);

    const reconnecting = network()
      .reconnect?.()
      .catch(() => {});
    await calls.close();
    await reconnecting;

    await expect(calls.call("test.echo", 2)).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });
}

/** Sends a request unchanged, and returns the first reply, or the error that refused it. */
async function lastReply(caller: Transport, frame: CallRequested): Promise<ReplyFrame> {
  return new Promise((resolve, reject) => {
    (async () => caller.request(frame.operationId, frame, resolve))().catch(reject);
  });
}
