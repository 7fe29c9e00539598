import { expect, test } from "vitest";
import { hashJSON, Pins } from "./pins.ts";

type Described = ReturnType<typeof version>["operation"];

function version(hash: string, description = hash) {
  return { hash, operation: { namespace: "ns", name: "op", description, handler: () => description } };
}

test("without pins everything is offered as it is", () => {
  const pins = new Pins<Described>();
  const found = version("1");
  pins.approveFirst(new Map([["op", found]]));

  expect(pins.offer("op", version("2"))?.description).toBe("2");
  expect(pins.held(new Map([["op", version("2")]]))).toEqual([]);
});

test("a changed operation is offered as it was approved, and refuses until it is approved", () => {
  const pins = new Pins<Described>(true);
  pins.approveFirst(new Map([["op", version("1")]]));
  pins.offer("op", version("1"));

  const offered = pins.offer("op", version("2"));

  expect(offered?.description).toBe("1");
  expect(() => offered?.handler()).toThrow(
    expect.objectContaining({ code: "UNAVAILABLE", mayHaveRun: false, details: { operationId: "ns.op" } }),
  );
  expect(pins.offer("op", version("2"))).toBe(offered);
  expect(pins.held(new Map([["op", version("2")]]))).toEqual([{ operationId: "op", before: "1", after: "2" }]);
  pins.approve(["op"], new Map([["op", version("2")]]), "test");
  expect(pins.offer("op", version("2"))?.handler()).toBe("2");
});

test("an operation that was never approved is not offered", () => {
  const pins = new Pins<Described>({ other: "1" });
  pins.approveFirst(new Map([["op", version("1")]]));

  expect(pins.offer("op", version("1"))).toBeUndefined();
  expect(pins.held(new Map([["op", version("1")]]))).toEqual([{ operationId: "op", after: "1" }]);
});

test("an unknown id is an error, and nothing is approved", () => {
  const pins = new Pins<Described>({});
  const found = new Map([["op", version("1")]]);

  expect(() => pins.approve(["op", "typo"], found, "test")).toThrow(
    expect.objectContaining({
      code: "VALIDATION_ERROR",
      message: 'The source test has no operation "typo" to approve.',
    }),
  );
  expect(pins.held(found)).toEqual([{ operationId: "op", after: "1" }]);
});

test("refusing reads no getter", () => {
  const pins = new Pins<Described>(true);
  const { operation } = version("1");
  const lazy = Object.defineProperty(operation, "inputSchema", {
    enumerable: true,
    get: () => {
      throw new Error("read");
    },
  });

  expect(() => pins.refuse(lazy)).not.toThrow();
});

test("a hash is the SHA-256 of the string in hexadecimal digits", async () => {
  expect(await hashJSON({})).toBe("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
});
