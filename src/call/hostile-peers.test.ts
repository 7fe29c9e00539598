import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  localEnvelope,
  type Middleware,
  OperationRegistry,
  type OperationSpec,
  type RegistryOptions,
  type SourceReport,
} from "../index.ts";
import type { Transport } from "../transport/transport.ts";
import { createWorkerTransport } from "../transport/worker/index.ts";
import { peerSource } from "./index.ts";
import { operation as define, describeSpec, until } from "./testing.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A spec as it comes over a wire. */
function spec(name: string, part: object = {}): OperationSpec {
  return { ...JSON.parse(JSON.stringify(describeSpec(define(name, () => 1)))), ...part };
}

/** A hub, and a peer that sends arbitrary frames over a real wire and returns the input of every call. */
async function meet(options?: RegistryOptions, limits?: { operations: number }) {
  const { port1, port2 } = new MessageChannel();
  const reports: SourceReport[] = [];
  const registry = new OperationRegistry(options);
  closing.push(() => registry.close());
  const onReport = (report: SourceReport) => reports.push(report);
  const peer: Transport = createWorkerTransport(port2);
  closing.push(() => peer.close());
  await registry.follow(peerSource(createWorkerTransport(port1), { onReport, ...(limits && { limits }) }));
  const announce = async (specs: unknown[]) => {
    await peer.serve(
      ["test.good", "test.secret", "test.pattern", "test.bomb"],
      ({ requestId, operationId, input }, reply) => {
        void reply({ type: "call.responded", requestId, output: localEnvelope(input, operationId) });
        return () => {};
      },
    );
    await peer.announce(specs as OperationSpec[]);
  };
  const skipped = () => reports.flatMap((report) => report.skipped.map(({ where }) => where));
  return { registry, announce, skipped, port2 };
}

/** Input that is passed on is validated by the peer; here only where something of the hub reads it. */
const readsInput: Middleware = (_call, next) => next();

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "answered",
    ({ code }) => code,
  );
}

describe("a peer that announces", () => {
  test.each<[string, unknown]>([
    ["a name with a control character", spec("bad\nname")],
    ["a namespace with a dot", spec("x", { namespace: "a.b" })],
    ["names that are no texts", spec("x", { namespace: {}, name: [] })],
    ["no schema of its input", without(spec("x"), "inputSchema")],
    ["an unknown type", spec("x", { type: "everything" })],
    ["no access rules", without(spec("x"), "accessControl")],
    ["scopes that are no texts", spec("x", { accessControl: { requiredScopes: [{}] } })],
    ["something that JSON cannot hold", spec("x", { outputSchema: { default: 5n } })],
    ["nothing at all", {}],
  ])("%s loses that operation only", async (_title, bad) => {
    const { registry, announce, skipped } = await meet();

    await announce([bad, spec("good")]);

    expect(registry.list().map(({ name }) => name)).toEqual(["good"]);
    expect(skipped()).toEqual(["specs/0"]);
    expect((await registry.execute("test.good", 5)).data).toBe(5);
  });

  test("__proto__ in every place changes no prototype", async () => {
    const { registry, announce } = await meet();
    const proto = JSON.parse('{"__proto__": {"polluted": true}}');

    await announce([
      spec("good", { ...proto, _meta: proto, inputSchema: proto }),
      spec("__proto__", { namespace: "__proto__" }),
      spec("constructor", { namespace: "constructor" }),
    ]);

    expect(registry.list().map(({ namespace }) => namespace)).toEqual(["test", "__proto__", "constructor"]);
    expect(registry.get("test.good")).not.toHaveProperty("polluted");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect((await registry.execute("test.good", {})).data).toEqual({});
  });

  test("values in the place of handler, pages or refinement never run", async () => {
    const { registry, announce } = await meet();
    registry.use(readsInput);

    await announce([
      spec("own", { handler: "x" }),
      spec("good", { nextPage: "x", fillDefaults: true, "~standard": { validate: "x" } }),
      spec("secret", { inputSchema: { "~kind": "String", "~refine": [{ check: "x" }] } }),
    ]);

    expect(registry.list().map(({ name }) => name)).toEqual(["good", "secret"]);
    expect(registry.get("test.good")).not.toHaveProperty("nextPage");
    expect((await registry.execute("test.good", 5)).data).toBe(5);
    expect(await codeOf(registry.execute("test.secret", "x"))).toBe("EXECUTION_ERROR");
  });

  test("more operations than the limit brings as many as the limit", async () => {
    const { registry, announce, skipped } = await meet(undefined, { operations: 100 });

    await announce(Array.from({ length: 150 }, (_, n) => spec(`n${n}`)));

    expect(registry.list()).toHaveLength(100);
    expect(skipped()).toEqual(["specs"]);
  });

  test("10,000 operations, and again in other words, is taken in", async () => {
    const { registry, announce } = await meet();

    await announce(Array.from({ length: 10_000 }, (_, n) => spec(`n${n}`)));
    await announce([...Array.from({ length: 9_999 }, (_, n) => spec(`n${n}`, { version: "2.0.0" })), spec("good")]);

    expect(registry.list()).toHaveLength(10_000);
    expect((await registry.execute("test.good", 5)).data).toBe(5);
  });

  test("thousands of values that are not operations are reported briefly", async () => {
    const { registry, announce, skipped } = await meet();

    await announce([...Array.from({ length: 5_000 }, () => ({})), spec("good")]);

    expect(skipped()).toHaveLength(21);
    expect(registry.has("test.good")).toBe(true);
  });

  test("a schema that is too large or too deep is refused when it is called, and blocks no other call", async () => {
    const { registry, announce } = await meet();
    registry.use(readsInput);
    const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, { type: "string" }]));
    let deep: object = {};
    for (let n = 0; n < 100; n++) deep = { not: deep };

    await announce([
      spec("bomb", { inputSchema: { properties } }),
      spec("secret", { inputSchema: deep }),
      spec("good"),
    ]);

    expect(await codeOf(registry.execute("test.bomb", {}))).toBe("EXECUTION_ERROR");
    expect(await codeOf(registry.execute("test.secret", {}))).toBe("EXECUTION_ERROR");
    expect((await registry.execute("test.good", 5)).data).toBe(5);
  });

  test.each([
    ["plain", {}],
    ["as if it were a type of this program", { "~kind": "String", "~unsafe": null }],
  ])("a pattern that runs for ever on other engines, %s, does not", async (_title, marks) => {
    const { registry, announce } = await meet();
    registry.use(readsInput);

    await announce([spec("pattern", { inputSchema: { type: "string", pattern: "^(a+)+$", ...marks } })]);
    const started = performance.now();
    const code = await codeOf(registry.execute("test.pattern", `${"a".repeat(40)}!`));

    expect(code).toBe("VALIDATION_ERROR");
    // On a backtracking engine this takes hours.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("two operations of one id counts the first", async () => {
    const { registry, announce, skipped } = await meet();

    await announce([spec("good"), spec("good", { version: "2.0.0" })]);

    expect([registry.getSpec("test.good")?.version, skipped()]).toEqual(["1.0.0", ["test.good"]]);
  });

  test("a message that is not a frame closes its connection, and the hub keeps its own operations", async () => {
    const { registry, announce, port2 } = await meet();
    registry.register(define("own", () => "mine"));
    await announce([spec("good")]);

    port2.postMessage('{"type":"peer.announced","peerId":"x","specs":"all of them"}');

    await until(() => !registry.has("test.good"));
    expect((await registry.execute("test.own", {})).data).toBe("mine");
  });
});

describe("the access rules that a peer announces", () => {
  const low = { identity: { id: "eve", scopes: [] } };
  const high = { identity: { id: "ada", scopes: ["admin"] } };
  const rule = (accessControl: object) => spec("secret", { accessControl });

  test("hold for callers of the hub, and what it announces later holds from then on", async () => {
    const { registry, announce } = await meet();
    const changes: unknown[] = [];
    registry.on("change", ({ kind, spec: { accessControl } }) => changes.push([kind, accessControl]));
    const callers = () => Promise.all([low, high].map((who) => codeOf(registry.execute("test.secret", 1, who))));

    await announce([rule({ requiredScopes: ["admin"] })]);
    const strict = await callers();
    await announce([rule({ requiredScopes: [] })]);
    const open = await callers();

    expect([strict, open]).toEqual([
      ["ACCESS_DENIED", "answered"],
      ["answered", "answered"],
    ]);
    expect(changes).toEqual([
      ["added", { requiredScopes: ["admin"] }],
      ["changed", { requiredScopes: [] }],
    ]);
  });

  test("do not replace an operation of the hub", async () => {
    const { registry, announce } = await meet();
    registry.register({ ...define("secret", () => "mine"), accessControl: { requiredScopes: ["admin"] } });

    await announce([rule({ requiredScopes: [] })]);

    expect(await codeOf(registry.execute("test.secret", 1, low))).toBe("ACCESS_DENIED");
  });

  test.each([
    ["that the hub does not have", "elsewhere", "ACCESS_DENIED"],
    ["of something that is not a function of the hub", "constructor", "ACCESS_DENIED"],
    ["that the hub has", "mine", "answered"],
  ])("with the name of a customAuth %s", async (_title, customAuth, expected) => {
    const mine = vi.fn(() => true);
    const { registry, announce } = await meet({ customAuth: { mine } });

    await announce([rule({ requiredScopes: [], customAuth })]);

    expect(await codeOf(registry.execute("test.secret", 1, high))).toBe(expected);
    expect(mine).toHaveBeenCalledTimes(expected === "answered" ? 1 : 0);
  });
});

function without(value: OperationSpec, key: keyof OperationSpec): object {
  const { [key]: _left, ...rest } = value;
  return rest;
}
