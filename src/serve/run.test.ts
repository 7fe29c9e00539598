import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type AuthenticatedIdentity,
  createRegistry,
  defineOperation,
  type IOperationDefinition,
  type OperationContext,
} from "../index.ts";
import { deferred } from "../internal/testing.ts";
import type { Caller } from "./gate.ts";
import { Gate } from "./gate.ts";
import { CallRunner, type ServedCall } from "./run.ts";

const part = { namespace: "task", inputSchema: {}, outputSchema: {} };

function query(name: string, handler: (input: unknown, context: OperationContext) => unknown) {
  return defineOperation({ ...part, name, type: "query", handler });
}

function subscription(name: string, handler: (input: unknown, context: OperationContext) => AsyncIterable<unknown>) {
  return defineOperation({ ...part, name, type: "subscription", handler });
}

function createRunner(
  operations: readonly IOperationDefinition[],
  options: ConstructorParameters<typeof CallRunner>[1] = {},
  gate?: Gate,
): CallRunner {
  const runner = new CallRunner(createRegistry({ operations }), options, "http", gate);
  onTestFinished(() => runner.close({ timeout: 0 }));
  return runner;
}

function callerOf(id: string | undefined, address?: string): Caller {
  const identity = id === undefined ? undefined : { id, scopes: [] };
  const credentials = { headers: new Headers(), remoteAddress: address };
  return {
    kind: "caller",
    identity,
    owner: id ?? `address ${address}`,
    expiresAt: Number.POSITIVE_INFINITY,
    credentials,
  };
}

function request(operationId: string, own: Partial<ServedCall> = {}): ServedCall {
  return { requestId: "r-1", operationId, input: {}, caller: callerOf("ada"), onClose: () => {}, ...own };
}

const hang = (aborted: (reason: unknown) => void) =>
  query(
    "hang",
    (_input, { signal }) => new Promise(() => signal.addEventListener("abort", () => aborted(signal.reason))),
  );

describe("a call", () => {
  test("resolves with the envelope, and its handler receives what the request has", async () => {
    const describeCall = query("describe", (input, { requestId, identity, metadata, deadline }) => ({
      input,
      requestId,
      identity,
      metadata,
      hasDeadline: deadline !== undefined,
    }));
    const runner = createRunner([describeCall]);

    const metadata = { traceparent: "00-1" };
    const { data } = await runner.call(request("task.describe", { input: { a: 1 }, metadata }));

    const identity = { id: "ada", scopes: [] };
    expect(data).toEqual({ input: { a: 1 }, requestId: "r-1", identity, metadata, hasDeadline: true });
  });

  test("rejects with the error of its operation", async () => {
    const runner = createRunner([]);

    await expect(runner.call(request("task.missing"))).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  });

  test("is aborted when its client disconnects, also before it has started", async () => {
    const aborted = vi.fn();
    const runner = createRunner([hang(aborted)]);
    let disconnect = () => {};
    const onClose: ServedCall["onClose"] = (listener) => {
      disconnect = () => listener("gone");
    };

    const pending = runner.call(request("task.hang", { onClose }));
    disconnect();
    await expect(pending).rejects.toMatchObject({ code: "ABORTED" });
    expect(aborted).toHaveBeenCalledOnce();
    const early = runner.call(request("task.hang", { onClose: (listener) => listener("gone") }));
    await expect(early).rejects.toMatchObject({ code: "ABORTED", mayHaveRun: false });
    expect(aborted).toHaveBeenCalledOnce();
  });

  test.each([
    [{}, undefined, 30_000],
    [{}, 7_200_000, 3_600_000],
    [{ defaultTimeout: 50 }, undefined, 50],
    [{ maxTimeout: 100 }, 5_000, 100],
    [{ maxTimeout: 100 }, undefined, 100],
    [{ defaultTimeout: 7_200_000 }, undefined, 7_200_000],
    [{ defaultTimeout: 7_200_000, maxTimeout: 100 }, undefined, 100],
    [{ defaultTimeout: Number.POSITIVE_INFINITY }, undefined, undefined],
    [{ defaultTimeout: Number.POSITIVE_INFINITY, maxTimeout: 100 }, undefined, 100],
  ])("with %j that requests %s ms has %s ms", async (options, timeout, expected) => {
    const now = 1_800_000_000_000;
    vi.useFakeTimers({ now });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const runner = createRunner([query("deadline", (_input, { deadline }) => deadline ?? null)], options);

    const { data } = await runner.call(request("task.deadline", { timeout }));

    expect(data).toBe(expected === undefined ? null : now + expected);
  });

  test("is refused above limits.pendingCalls, and one caller cannot have all of them", async () => {
    const finish = deferred();
    const runner = createRunner([query("wait", () => finish.promise)], { limits: { pendingCalls: 4 } });
    const start = (caller: Caller) => runner.call(request("task.wait", { caller }));
    const running = [start(callerOf("ada")), start(callerOf("ada")), start(callerOf("ada"))];

    const refused = { code: "LIMIT_EXCEEDED", retryable: true, mayHaveRun: false };
    await expect(start(callerOf("ada"))).rejects.toMatchObject(refused);
    running.push(start(callerOf(undefined, "192.0.2.1")));
    await expect(start(callerOf("bob"))).rejects.toMatchObject(refused);
    finish.resolve();
    await Promise.all(running);
    await start(callerOf("ada"));
  });
});

describe("a subscription", () => {
  const count = subscription("count", async function* () {
    yield 1;
    yield 2;
  });
  const wait = (aborted = () => {}) =>
    subscription("wait", async function* (_input, { signal }) {
      yield 1;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      aborted();
    });

  test("yields the envelopes of its values", async () => {
    const values: unknown[] = [];
    for await (const { data } of createRunner([count]).values(request("task.count"))) values.push(data);

    expect(values).toEqual([1, 2]);
  });

  test("has no time limit of its own, and the requested one", async () => {
    const deadline = subscription("deadline", async function* (_input, { deadline }) {
      yield deadline ?? null;
    });
    const runner = createRunner([deadline], { maxTimeout: 10_000 });
    const first = async (timeout?: number) =>
      (await runner.values(request("task.deadline", { timeout })).next()).value?.data as number | null;

    expect(await first()).toBeNull();
    expect(await first(60_000)).toBeLessThanOrEqual(Date.now() + 10_000);
  });

  test("ends with ABORTED when its client disconnects", async () => {
    const aborted = vi.fn();
    let disconnect = () => {};
    const onClose: ServedCall["onClose"] = (listener) => {
      disconnect = () => listener("gone");
    };
    const values = createRunner([wait(aborted)]).values(request("task.wait", { onClose }));
    await values.next();

    const next = values.next();
    disconnect();

    await expect(next).rejects.toMatchObject({ code: "ABORTED" });
    await vi.waitFor(() => expect(aborted).toHaveBeenCalledOnce());
  });

  test("ends with ACCESS_DENIED when the credentials of its caller are removed", async () => {
    const known = new Map<string, AuthenticatedIdentity>([["one", { id: "ada", scopes: [] }]]);
    let change = () => {};
    const gate = new Gate({
      authenticate: {
        authenticate: ({ token = "" }) => known.get(token),
        onChange: (listener) => {
          change = listener;
          return () => {};
        },
      },
    });
    const headers = new Headers({ authorization: "Bearer one" });
    const caller = (await gate.check({ method: "GET", url: "http://localhost/", headers })) as Caller;
    const values = createRunner([wait()], {}, gate).values(request("task.wait", { caller }));
    await values.next();

    const next = values.next();
    known.clear();
    change();

    await expect(next).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });

  test("counts among the calls of its caller until it ends", async () => {
    const runner = createRunner([wait()], { limits: { pendingCalls: 1 } });
    const values = runner.values(request("task.wait"));
    await values.next();

    expect(() => runner.values(request("task.wait"))).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED" }));
    await values.return?.();
    await runner.values(request("task.wait")).return?.();
  });
});

describe("closing", () => {
  test("lets calls finish, ends subscriptions and refuses further calls", async () => {
    const finish = deferred();
    const ticks = subscription("ticks", async function* (_input, { signal }) {
      yield 1;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    });
    const runner = createRunner([query("wait", () => finish.promise.then(() => "done")), ticks]);
    const call = runner.call(request("task.wait"));
    const values = runner.values(request("task.ticks"));
    await values.next();
    const next = values.next();

    const closed = runner.close();

    await expect(next).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(runner.call(request("task.wait"))).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    expect(() => runner.values(request("task.ticks"))).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
    finish.resolve();
    expect((await call).data).toBe("done");
    await closed;
  });

  test("ends calls that do not finish in time", async () => {
    const aborted = vi.fn();
    const runner = createRunner([hang(aborted)]);
    const call = runner.call(request("task.hang"));

    const closed = runner.close({ timeout: 0 });

    await expect(call).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    await closed;
    expect(aborted).toHaveBeenCalledOnce();
  });
});
