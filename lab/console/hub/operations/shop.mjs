import { setTimeout as wait } from "node:timers/promises";
import { defineNamespace, Type } from "@alkdev/operations";

const define = defineNamespace("shop");
let next = 1;

const price = define({
  name: "price",
  type: "query",
  description: "Returns the price of an item",
  inputSchema: Type.Object({ item: Type.String() }),
  outputSchema: Type.Object({ cents: Type.Integer() }),
  handler: async ({ item }) => {
    await wait(8);
    return { cents: 100 * item.length };
  },
});

const order = define({
  name: "order",
  type: "mutation",
  title: "Order an item",
  description:
    "Looks up the **price** and the weather, and writes a caption.\n\n- one call of a function\n- one of an HTTP API\n- one of an MCP tool",
  tags: ["orders"],
  inputSchema: Type.Object({
    item: Type.String({ minLength: 1, description: "What to send" }),
    city: Type.String({ default: "Oslo" }),
    note: Type.Optional(Type.String({ description: "For the parcel service" })),
  }),
  outputSchema: Type.Object({ id: Type.Integer(), cents: Type.Integer(), caption: Type.String() }),
  errors: {
    CITY_UNKNOWN: { schema: Type.Object({ city: Type.String() }), description: "No parcels go there", httpStatus: 404 },
  },
  handler: async ({ item, city }, { call, errors }) => {
    const [{ cents }, forecast] = await Promise.all([
      call(price, { item }),
      call("weather.forecast", { city }).catch(() => undefined),
    ]);
    if (forecast === undefined) throw errors.CITY_UNKNOWN({ city }, `There is no way to ${city}.`);
    const { text } = await call("media.caption", { city, degrees: forecast.days[0].degrees });
    return { id: next++, cents, caption: text };
  },
});

const tree = Type.Module({
  Branch: Type.Object({ name: Type.String(), children: Type.Optional(Type.Array(Type.Ref("Branch"))) }),
}).Branch;

export default [
  price,
  order,
  define({
    name: "profile",
    type: "mutation",
    idempotent: true,
    description: "Takes every kind of field, and returns its input",
    inputSchema: Type.Object({
      name: Type.String({ minLength: 2, description: "At least two characters" }),
      letter: Type.Optional(Type.String({ contentMediaType: "text/markdown" })),
      age: Type.Optional(Type.Integer({ minimum: 0, maximum: 150 })),
      isMember: Type.Boolean(),
      size: Type.Enum(["S", "M", "L"]),
      country: Type.Optional(Type.Enum(["at", "be", "ch", "de", "ee", "fr", "it"])),
      born: Type.Optional(Type.String({ format: "date" })),
      calledAt: Type.Optional(Type.String({ format: "date-time" })),
      apiKey: Type.Optional(Type.String({ description: "A secret" })),
      address: Type.Object({ street: Type.String(), zip: Type.Optional(Type.String()) }),
      labels: Type.Optional(Type.Record(Type.String(), Type.String())),
      tags: Type.Array(Type.String(), { minItems: 1 }),
      point: Type.Optional(Type.Tuple([Type.Number(), Type.Number()])),
      pay: Type.Union([
        Type.Object({ by: Type.Literal("card"), number: Type.String() }, { title: "by card" }),
        Type.Object({ by: Type.Literal("invoice"), days: Type.Integer() }, { title: "by invoice" }),
      ]),
      parent: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      family: Type.Optional(tree),
      anything: Type.Optional(Type.Unknown()),
    }),
    outputSchema: Type.Unknown(),
    handler: (input) => input,
  }),
  define({
    name: "orders",
    type: "query",
    description: "Lists orders",
    inputSchema: Type.Object({ count: Type.Integer({ default: 25, minimum: 0, maximum: 100_000 }) }),
    outputSchema: Type.Array(
      Type.Object({ id: Type.Integer(), item: Type.String(), city: Type.String(), paid: Type.Boolean() }),
    ),
    handler: ({ count }) =>
      Array.from({ length: count }, (_, at) => ({
        id: at + 1,
        item: ["Mug", "Lamp", "Chair"][at % 3],
        city: ["Oslo", "Lima", "Nairobi"][at % 3],
        paid: at % 4 !== 0,
      })),
  }),
  define({
    name: "export",
    type: "query",
    description: "Returns a result of about so many megabytes",
    inputSchema: Type.Object({ megabytes: Type.Integer({ default: 10, minimum: 1, maximum: 20 }) }),
    outputSchema: Type.Unknown(),
    handler: ({ megabytes }) =>
      Array.from({ length: megabytes * 10_000 }, (_, id) => ({
        id,
        item: "Mug",
        note: "x".repeat(66),
        at: { row: id, page: 1 },
      })),
  }),
  define({
    name: "wait",
    type: "query",
    description: "Waits, unless it is cancelled",
    inputSchema: Type.Object({ seconds: Type.Number({ default: 20 }) }),
    outputSchema: Type.Object({}),
    handler: async ({ seconds }, { signal }) => {
      await wait(seconds * 1_000, undefined, { signal });
      return {};
    },
  }),
  define({
    name: "measure",
    type: "query",
    description: "Returns immediately, or fails",
    inputSchema: Type.Object({ fail: Type.Boolean({ default: false }) }),
    outputSchema: Type.Object({}),
    handler: ({ fail }) => {
      if (fail) throw new Error("It was asked to.");
      return {};
    },
  }),
  define({
    name: "stock",
    type: "subscription",
    description: "Emits how much is left",
    inputSchema: Type.Object({
      every: Type.Number({ default: 200, minimum: 1, description: "In ms" }),
      count: Type.Integer({ default: 1_000 }),
    }),
    outputSchema: Type.Number(),
    handler: async function* ({ every, count }, { signal }) {
      for (let at = 0; at < count; at++) {
        yield Math.round(50 + 40 * Math.sin(at / 5));
        if (every >= 5 || at % 20 === 0) await wait(every, undefined, { signal });
      }
    },
  }),
  define({
    name: "vault",
    type: "query",
    description: "Opens the vault",
    accessControl: { requiredScopes: ["vault:open"], resourceType: "vault", resourceAction: "open", resourceId: "/id" },
    inputSchema: Type.Object({ id: Type.String() }),
    outputSchema: Type.Object({ gold: Type.Integer() }),
    handler: () => ({ gold: 7 }),
  }),
];
