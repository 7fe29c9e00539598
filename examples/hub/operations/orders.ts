import { defineNamespace, isCallError, Type } from "@alkdev/operations";
import { shopDatabase } from "../database.ts";

const define = defineNamespace("order");

const Order = Type.Object({ id: Type.Integer(), item: Type.String(), city: Type.String(), parcel: Type.String() });
interface OrderRow {
  id: number;
  item: string;
  city: string;
  parcel: string;
}

const list = define({
  name: "list",
  type: "query",
  description: "Lists orders, the newest first",
  inputSchema: Type.Object({ city: Type.Optional(Type.String()), limit: Type.Integer({ default: 10, minimum: 1 }) }),
  outputSchema: Type.Array(Order),
  handler: async ({ city = null, limit }) => {
    const database = await shopDatabase();
    const sql = "SELECT * FROM orders WHERE ? IS NULL OR city = ? ORDER BY id DESC LIMIT ?";
    return database.query<OrderRow>(sql, city, city, limit);
  },
});

const save = define({
  name: "save",
  type: "mutation",
  description: "Saves an order in the database",
  inputSchema: Type.Object({ item: Type.String({ minLength: 1 }), city: Type.String(), parcel: Type.String() }),
  outputSchema: Order,
  handler: async ({ item, city, parcel }) => {
    const database = await shopDatabase();
    const sql = "INSERT INTO orders (item, city, parcel) VALUES (?, ?, ?) RETURNING *";
    return database.query<OrderRow>(sql, item, city, parcel)[0]!;
  },
});

// #region place
const place = define({
  name: "place",
  type: "mutation",
  description: "Books the delivery of an item, saves the order, and writes a letter to the customer",
  inputSchema: Type.Object({ item: Type.String({ minLength: 1 }), city: Type.String() }),
  outputSchema: Type.Object({ order: Order, days: Type.Integer(), letter: Type.String() }),
  errors: { CITY_UNKNOWN: { schema: Type.Object({ city: Type.String() }), httpStatus: 404 } },
  handler: async ({ item, city }, { call, errors }) => {
    const parcel = await call<{ id: string; days: number }>("delivery.book", { body: { city } }).catch((error) => {
      if (!isCallError(error) || error.code !== "HTTP_404") throw error;
      throw errors.CITY_UNKNOWN({ city }, `The delivery service does not know ${city}.`);
    }); // an HTTP endpoint
    const order = await call(save, { item, city, parcel: parcel.id }); // a function on the database
    const letter = await call<{ text: string }>("letters.write", { item, days: parcel.days }); // an MCP tool
    return { order, days: parcel.days, letter: letter.text };
  },
});
// #endregion place

export default [list, save, place];
