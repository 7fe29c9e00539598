import { MessageChannel } from "node:worker_threads";
import { type TSchema, Type } from "typebox";
import { afterEach, describe, expect, test } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../call/index.ts";
import { type OperationHandler, OperationType, type OutputPolicy } from "../operation/index.ts";
import { createWorkerTransport } from "../transport/worker/index.ts";
import { OperationRegistry } from "./index.ts";

class User {
  id: string;
  passwordHash: string;
  constructor(id: string, passwordHash: string) {
    this.id = id;
    this.passwordHash = passwordHash;
  }
  greet() {
    return `I am ${this.id}`;
  }
}

class Account {
  #id: string;
  constructor(id: string) {
    this.#id = id;
  }
  get id() {
    return this.#id;
  }
}

const opened: PendingRequestMap[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((map) => map.close()));
});

interface Setup {
  handler: OperationHandler;
  input?: TSchema;
  output?: TSchema;
  outputPolicy?: OutputPolicy;
}

/** Calls an operation directly and through a message port. */
async function callBothWays({ handler, input, output, outputPolicy }: Setup, value: unknown = {}) {
  const registry = new OperationRegistry();
  registry.register({
    namespace: "user",
    name: "get",
    version: "1.0.0",
    type: OperationType.QUERY,
    description: "",
    inputSchema: input ?? Type.Unknown(),
    outputSchema: output ?? Type.Unknown(),
    accessControl: { requiredScopes: [] },
    ...(outputPolicy !== undefined && { outputPolicy }),
    handler,
  });
  const { port1, port2 } = new MessageChannel();
  const server = new PendingRequestMap(createWorkerTransport(port1));
  const caller = new PendingRequestMap(createWorkerTransport(port2));
  opened.push(server, caller);
  await server.handle(buildCallHandler({ registry, callMap: server })).ready;
  const settle = (call: Promise<{ data: unknown; meta: { drift?: unknown } }>) =>
    call.then(
      ({ data, meta }) => ({ data, drift: meta.drift }),
      ({ code }) => ({ code }),
    );
  const direct = await settle(registry.execute("user.get", value));
  const remote = await settle(caller.call("user.get", value));
  return { direct, remote };
}

describe("an instance that a handler returns", () => {
  const output = Type.Object({ id: Type.String() });

  test("is stripped to its schema and reported, for direct and remote callers", async () => {
    const { direct, remote } = await callBothWays({ handler: () => new User("1", "s3cret"), output });

    expect(direct).toStrictEqual({
      data: { id: "1" },
      drift: [{ path: "/passwordHash", kind: "stripped", message: "not in the schema" }],
    });
    expect(remote).toStrictEqual(direct);
  });

  test.each<OutputPolicy>(["cast", "check", "strict"])(
    "is read through its declared getters under %s",
    async (policy) => {
      const { direct, remote } = await callBothWays({
        handler: () => new Account("1"),
        output,
        outputPolicy: policy,
      });

      expect(direct).toStrictEqual({ data: { id: "1" }, drift: undefined });
      expect(remote).toStrictEqual(direct);
    },
  );

  test("keeps undeclared properties under check, which reports them", async () => {
    const { direct, remote } = await callBothWays({
      handler: () => new User("1", "s3cret"),
      output,
      outputPolicy: "check",
    });

    expect(direct).toStrictEqual({
      data: { id: "1", passwordHash: "s3cret" },
      drift: [{ path: "/passwordHash", kind: "stripped", message: "not in the schema" }],
    });
    expect(remote).toStrictEqual(direct);
  });

  test("is refused under strict when it does not match", async () => {
    const closed = Type.Object({ id: Type.String() }, { additionalProperties: false });
    const { direct, remote } = await callBothWays({
      handler: () => new User("1", "s3cret"),
      output: closed,
      outputPolicy: "strict",
    });

    expect([direct, remote]).toEqual([{ code: "OUTPUT_INVALID" }, { code: "OUTPUT_INVALID" }]);
  });

  test.each<[string, TSchema, unknown, unknown]>([
    ["a list", Type.Array(output), [{ id: "0" }, new User("1", "x")], [{ id: "0" }, { id: "1" }]],
    ["a record", Type.Record(Type.String(), output), { a: new Account("1") }, { a: { id: "1" } }],
    ["a property", Type.Object({ user: output }), { user: new Account("1") }, { user: { id: "1" } }],
    ["an optional property", Type.Object({ user: Type.Optional(output) }), { user: new User("1", "x") }, undefined],
    ["an alternative", Type.Union([output, Type.Null()]), new User("1", "x"), { id: "1" }],
    ["alternatives that are objects", Type.Union([Type.Object({ name: Type.String() }), output]), new Account("1"), 0],
    ["an intersection", Type.Intersect([output, Type.Object({})]), new Account("1"), { id: "1" }],
  ])("is plain data inside %s", async (_, schema, value, expected) => {
    const { direct, remote } = await callBothWays({ handler: () => value, output: schema });

    const shapes = new Map<unknown, unknown>([
      [undefined, { user: { id: "1" } }],
      [0, { id: "1" }],
    ]);
    expect(direct).toMatchObject({ data: shapes.get(expected) ?? expected });
    expect(remote).toStrictEqual(direct);
  });

  test("is read through its toJSON, and through declared getters that toJSON omits", async () => {
    class Document {
      $cache = 1;
      get id() {
        return "1";
      }
      toJSON() {
        return { title: "Ada" };
      }
    }
    const schema = Type.Object({ id: Type.String(), title: Type.String() });

    const { direct, remote } = await callBothWays({ handler: () => new Document(), output: schema });

    expect(direct).toStrictEqual({ data: { title: "Ada", id: "1" }, drift: undefined });
    expect(remote).toStrictEqual(direct);
  });

  test("becomes a string where the schema requires one and its toJSON returns one", async () => {
    const schema = Type.Object({ link: Type.String() });

    const { direct, remote } = await callBothWays({
      handler: () => ({ link: new URL("http://a.test/") }),
      output: schema,
    });

    expect(direct).toStrictEqual({
      data: { link: "http://a.test/" },
      drift: [{ path: "/link", kind: "converted", message: "object to string" }],
    });
    expect(remote).toStrictEqual(direct);
  });

  test("never has a prototype, a method or a constructor as a property", async () => {
    const schema = Type.Object({
      id: Type.String(),
      constructor: Type.Optional(Type.Unknown()),
      toString: Type.Optional(Type.Unknown()),
      greet: Type.Optional(Type.Unknown()),
      ["__proto__"]: Type.Optional(Type.Unknown()),
    });

    const { direct, remote } = await callBothWays({ handler: () => new User("1", "x"), output: schema });

    expect(direct).toMatchObject({ data: { id: "1" } });
    expect(Reflect.ownKeys((direct as { data: object }).data)).toEqual(["id"]);
    expect(remote).toStrictEqual(direct);
  });

  test("is unchanged where the schema accepts any value", async () => {
    const user = new User("1", "s3cret");

    const { direct } = await callBothWays({ handler: () => user });

    expect((direct as { data: unknown }).data).toBe(user);
  });

  test("stays a Date, a Map or bytes, also for remote callers", async () => {
    const schema = Type.Object({ date: Type.Object({}), map: Type.Object({}), bytes: Type.Object({}) });
    const data = { date: new Date(0), map: new Map([[1, 2]]), bytes: new Uint8Array([1]) };

    const { direct, remote } = await callBothWays({ handler: () => data, output: schema });

    expect(direct).toStrictEqual({ data, drift: undefined });
    expect(remote).toStrictEqual(direct);
  });
});

describe("an instance as input", () => {
  class Task {
    title = "Ship it";
    options = new User("1", "s3cret");
    get length() {
      return 7;
    }
  }

  test("is converted to the same plain object for direct and remote handlers", async () => {
    const seen: unknown[] = [];
    const input = Type.Object({ title: Type.String(), options: Type.Object({ id: Type.String() }) });

    await callBothWays({ handler: (value) => seen.push(value), input }, new Task());

    expect(seen).toStrictEqual([
      { title: "Ship it", options: { id: "1", passwordHash: "s3cret" } },
      { title: "Ship it", options: { id: "1", passwordHash: "s3cret" } },
    ]);
  });

  test("is validated as that plain object, with defaults", async () => {
    const seen: unknown[] = [];
    const input = Type.Object({
      title: Type.String(),
      done: Type.Boolean({ default: false }),
      options: Type.Unknown(),
    });

    await callBothWays({ handler: (value) => seen.push(value), input }, Object.assign(new Task(), { options: 1 }));
    const closed = Type.Object({ title: Type.String() }, { additionalProperties: false });
    const refused = await callBothWays({ handler: () => 1, input: closed }, new Task());
    const getter = await callBothWays({ handler: () => 1, input: Type.Object({ length: Type.Number() }) }, new Task());

    expect(seen[0]).toStrictEqual({ title: "Ship it", options: 1, done: false });
    expect(seen[1]).toStrictEqual(seen[0]);
    expect(refused).toEqual({ direct: { code: "VALIDATION_ERROR" }, remote: { code: "VALIDATION_ERROR" } });
    expect(getter).toEqual({ direct: { code: "VALIDATION_ERROR" }, remote: { code: "VALIDATION_ERROR" } });
  });

  test("stays a Blob or a stream, which only binary schemas accept", async () => {
    const seen: unknown[] = [];
    const value = { file: new Blob(["x"]), body: new ReadableStream() };
    const input = Type.Object({ file: Type.Object({}), body: Type.Unknown() });

    await callBothWays({ handler: (got) => seen.push(got), input }, value);

    expect(seen).toEqual([value]);
    expect((seen[0] as typeof value).file).toBe(value.file);
  });
});
