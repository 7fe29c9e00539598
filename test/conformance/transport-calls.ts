import { expect } from "vitest";
import {
  deferred,
  exchange,
  operation,
  requested,
  responded,
  sleep,
  until,
  withEnoughTime,
} from "../../src/call/testing.ts";
import { CallError } from "../../src/index.ts";
import type { ReplyFrame } from "../../src/transport/transport.ts";
import type { TransportSuite } from "./transport-suite.ts";
import { hiddenValues, wireValues } from "./wire-values.ts";

/** What every transport does with single calls. */
export function checkCalls({ check, ask, serve, rawCaller, rawServer, network, broadcasts }: TransportSuite): void {
  check("returns the result of the operation to its caller", async () => {
    await serve([operation("echo", (input) => ({ got: input }))]);
    const calls = await ask();

    const envelope = await calls.call("test.echo", { a: 1 });

    expect(envelope).toEqual({
      data: { got: { a: 1 } },
      meta: { source: "local", operationId: "test.echo", timestamp: expect.any(Number) },
    });
    expect(calls.pendingCount).toBe(0);
  });

  for (const [kind, value] of Object.entries(wireValues)) {
    check(`carries ${kind} both ways as it is`, async () => {
      const seen: unknown[] = [];
      const note = (input: unknown) => {
        seen.push(input);
        return input;
      };
      await serve([operation("echo", note)]);
      const calls = await ask();

      const { data } = await calls.call("test.echo", value);

      expect(seen).toStrictEqual([value]);
      expect(data).toStrictEqual(value);
    });
  }

  check("hands over objects and identities as its capabilities say", async () => {
    const seen: Array<{ input: unknown; caller: string | undefined }> = [];
    const note = operation("note", (input, { identity }) => {
      seen.push({ input, caller: identity?.id });
      return input;
    });
    await serve([note], { trustedBus: false });
    const calls = await ask();
    const input = { list: [1] };

    const { data } = await calls.call("test.note", input, { identity: { id: "ada", scopes: [] } });

    const isShared = calls.transport.capabilities?.sharesObjects === true;
    const isLocal = isShared || calls.transport.capabilities?.staysInProcess === true;
    expect({ input: seen[0]?.input === input, data: data === input }).toEqual({ input: isLocal, data: isLocal });
    expect(seen[0]?.caller === "ada").toBe(isShared);
  });

  check("sends the identity of a call as a claim if its capabilities say so", async () => {
    const whoami = operation("whoami", (_input, { identity }) => identity?.id);
    await serve([whoami], { trustedBus: true });
    const calls = await ask();

    const { data } = await calls.call("test.whoami", {}, { identity: { id: "ada", scopes: [] } });

    const { sharesObjects, claimsIdentity } = calls.transport.capabilities ?? {};
    expect(data).toBe(sharesObjects || claimsIdentity ? "ada" : undefined);
  });

  check("knows from the connection who calls if its capabilities say so", async () => {
    const caller = await rawCaller({ id: "grace", scopes: [] });
    await serve([operation("whoami", (_input, { identity }) => identity?.id)], { trustedBus: false });

    const data: unknown[] = [];
    await exchange(caller, { ...requested("test.whoami", {}), identity: { id: "ada", scopes: [] } }, data);

    const { carriesIdentity, sharesObjects } = caller.capabilities ?? {};
    expect(data).toEqual([carriesIdentity ? "grace" : sharesObjects ? "ada" : undefined]);
  });

  if (broadcasts)
    check("lets one server claim a request where every peer receives every frame", async () => {
      const [one, two] = [(await rawServer()).broadcast!, (await rawServer()).broadcast!];
      const caller = await rawCaller();
      const before = [one.isClaimed("r"), one.nextSeq("r")];
      const replies: ReplyFrame[] = [];

      await caller.request("test.unlisted", { ...requested("test.unlisted", {}, "r"), credit: 2 }, (reply) => {
        replies.push(reply);
      });
      await until(() => one.nextSeq("r") !== undefined);
      const claimed = [one.claim("r"), two.claim("r"), two.isClaimed("r")];
      const numbers = [one.nextSeq("r"), one.nextSeq("r"), two.nextSeq("other")];
      one.publish({ type: "call.completed", requestId: "r" });
      await until(() => replies.length > 0);

      expect(before).toEqual([false, undefined]);
      expect(claimed).toEqual([true, false, true]);
      expect(numbers).toEqual([1, 2, undefined]);
      expect(replies).toEqual([{ type: "call.completed", requestId: "r" }]);
    });

  check("carries errors in data with their name, message and cause", async () => {
    await serve([operation("echo", () => new RangeError("too far", { cause: new Error("why") }))]);
    const calls = await ask();

    const { data } = await calls.call<RangeError>("test.echo", {});

    expect(data).toBeInstanceOf(Error);
    expect([data.name, data.message]).toEqual(["RangeError", "too far"]);
  });

  check("refuses values that cannot be sent with EXECUTION_ERROR and their path", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    await serve([operation("echo", (input) => input), operation("code", () => ({ deep: [() => {}] }))]);
    const calls = await ask();

    await expect(calls.call("test.echo", cyclic)).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      mayHaveRun: false,
    });
    await expect(calls.call("test.echo", { a: Symbol("x") })).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
    await expect(calls.call("test.code", {})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      message: expect.stringContaining("/deep/0"),
      mayHaveRun: true,
    });
    expect((await calls.call("test.echo", 1)).data).toBe(1);
  });

  check("refuses objects that hide their state, in either direction", async () => {
    const seen: unknown[] = [];
    await serve([
      operation("note", (input) => seen.push(input)),
      operation("give", (input) => ({ found: [hiddenValues[String(input)]] })),
    ]);
    const calls = await ask();

    for (const [kind, value] of Object.entries(hiddenValues)) {
      await expect(calls.call("test.note", { found: [value] }), kind).rejects.toMatchObject({
        code: "EXECUTION_ERROR",
        details: { path: "/input/found/0" },
        mayHaveRun: false,
      });
      await expect(calls.call("test.give", kind), kind).rejects.toMatchObject({
        code: "EXECUTION_ERROR",
        details: { path: "/output/data/found/0" },
        mayHaveRun: true,
      });
    }
    expect(seen).toEqual([]);
  });

  check("refuses messages above its limit immediately, in either direction", async () => {
    const limit = network().maxMessage!;
    let starts = 0;
    await serve([
      operation("echo", (input) => {
        starts += 1;
        return input;
      }),
      operation("large", () => "x".repeat(limit + 1)),
    ]);
    const calls = await ask();

    const asked = calls.call("test.echo", "x".repeat(limit + 1));
    const answered = calls.call("test.large", {});

    await Promise.all([
      expect(asked).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: false }),
      expect(answered).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: true }),
    ]);
    expect(starts).toBe(0);
    expect((await calls.call("test.echo", "x".repeat(limit / 2))).data).toHaveLength(limit / 2);
  });

  check("fails immediately when no peer serves the operation", async () => {
    await serve([operation("echo", (input) => input)]);
    const calls = await ask();

    await expect(calls.call("test.ecko", {})).rejects.toMatchObject({
      code: "OPERATION_NOT_FOUND",
      mayHaveRun: false,
    });
    expect(calls.pendingCount).toBe(0);
  });

  check("reports an error with code, message, details and flags", async () => {
    const details = { at: new Date(0), list: [1n] };
    await serve([
      operation("fail", () => {
        throw new CallError("NO_MONEY", "Nothing left.", details, { retryable: true });
      }),
    ]);
    const calls = await ask();

    const error = await calls.call("test.fail", {}).catch((problem) => problem);

    expect(error).toBeInstanceOf(CallError);
    const { code, message, retryable, mayHaveRun } = error;
    expect({ code, message, details: error.details, retryable, mayHaveRun }).toStrictEqual({
      code: "NO_MONEY",
      message: "Nothing left.",
      details,
      retryable: true,
      mayHaveRun: true,
    });
    expect(error.stack).not.toContain("conformance/transport.ts");
  });

  check("runs each request once when several serve it", async () => {
    const starts = new Map<unknown, number>();
    const note = operation("note", ({ n }) => {
      starts.set(n, (starts.get(n) ?? 0) + 1);
      return n;
    });
    await serve([note]);
    await serve([note]);
    await serve([note]);
    const calls = await ask();

    await Promise.all(Array.from({ length: 300 }, (_, n) => calls.call("test.note", { n })));

    expect([...starts.values()]).toEqual(Array.from({ length: 300 }, () => 1));
  });

  check("distributes requests over the servers of an operation", async () => {
    await serve([operation("who", () => "a")]);
    await serve([operation("who", () => "b")]);
    const calls = await ask();

    // A busy one may miss a hundred calls, but not all of them.
    const seen = new Set<unknown>();
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: 100 }, () => calls.call("test.who", {})));
      for (const { data } of answers) seen.add(data);
      return seen.size > 1;
    });

    expect(seen).toEqual(new Set(["a", "b"]));
  });

  check("replies to the caller only, also when two use one request id", async () => {
    const server = await rawServer();
    await server.serve(["test.raw"], (frame, reply) => {
      setTimeout(() => void reply(responded(frame, (frame.input as { who: string }).who)), 5);
      return () => {};
    });
    const [one, two] = [await rawCaller(), await rawCaller()];
    const heard: Record<string, unknown[]> = { one: [], two: [] };

    await Promise.all([
      exchange(one, requested("test.raw", { who: "one" }, "same-id"), heard["one"]!),
      exchange(two, requested("test.raw", { who: "two" }, "same-id"), heard["two"]!),
    ]);

    expect(heard).toEqual({ one: ["one"], two: ["two"] });
  });

  check("returns 200 responses to the calls that they belong to", async () => {
    await serve([operation("echo", ({ n, ms }) => sleep(ms).then(() => n))]);
    const calls = await ask();

    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => calls.call("test.echo", { n, ms: (n * 7) % 13 })),
    );

    expect(answers.map(({ data }) => data)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });

  check("reports progress in order, before the response", async () => {
    await serve([
      operation("work", async (_input, context) => {
        for (const progress of [1, 2, 3]) context.progress({ progress, total: 3, message: `step ${progress}` });
        await sleep(1);
        return "done";
      }),
    ]);
    const calls = await ask();
    const heard: unknown[] = [];

    const { data } = await calls.call("test.work", {}, { onProgress: (progress) => heard.push(progress) });

    expect([...heard, data]).toEqual([
      { progress: 1, total: 3, message: "step 1" },
      { progress: 2, total: 3, message: "step 2" },
      { progress: 3, total: 3, message: "step 3" },
      "done",
    ]);
  });

  check("aborts the handler when the caller aborts", async () => {
    const fired = deferred<void>();
    const started = deferred<void>();
    await serve([
      operation("hang", (_input, { signal }) => {
        signal.addEventListener("abort", () => fired.resolve());
        started.resolve();
        return new Promise(() => {});
      }),
    ]);
    const calls = await ask();
    const controller = new AbortController();
    const call = calls.call("test.hang", {}, { signal: controller.signal }).catch((problem) => problem);
    await started.promise;

    controller.abort("enough");

    expect(await call).toMatchObject({ code: "ABORTED", cause: "enough", mayHaveRun: true });
    await fired.promise;
    expect(calls.pendingCount).toBe(0);
  });

  check("ends a call at its deadline on both sides", async () => {
    const fired = deferred<unknown>();
    let hasBegun = false;
    await serve([
      operation("hang", (_input, { signal, deadline }) => {
        hasBegun = true;
        signal.addEventListener("abort", () => fired.resolve(typeof deadline));
        return new Promise(() => {});
      }),
    ]);
    const calls = await ask();

    const error = await withEnoughTime(
      () => hasBegun,
      (time) => calls.call("test.hang", {}, { deadline: Date.now() + time }).catch((problem) => problem),
    );

    expect(error).toMatchObject({ code: "TIMEOUT", retryable: true });
    expect(await fired.promise).toBe("number");
  });

  check("does not start a call whose time is up or that was aborted", async () => {
    let starts = 0;
    await serve([operation("count", () => starts++)]);
    const calls = await ask();

    await expect(calls.call("test.count", {}, { deadline: Date.now() - 1 })).rejects.toMatchObject({
      code: "TIMEOUT",
      mayHaveRun: false,
    });
    await expect(calls.call("test.count", {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "ABORTED",
      mayHaveRun: false,
    });
    await calls.call("test.count", {});
    expect(starts).toBe(1);
  });
}
