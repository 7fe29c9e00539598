/** The API of an online shop: orders and refunds. It has an OpenAPI document and needs a bearer token. */
import { type API, startAPI } from "./http-api.ts";

const Order = {
  type: "object",
  required: ["id", "email", "item", "cents", "status"],
  properties: {
    id: { type: "string" },
    email: { type: "string" },
    item: { type: "string" },
    cents: { type: "integer", description: "Price in cents" },
    status: { enum: ["packing", "shipped", "delivered", "refunded"] },
    arrives: { type: "string", format: "date" },
  },
};
const Problem = { type: "object", required: ["message"], properties: { message: { type: "string" } } };
const json = (description: string, schema: object) => ({ description, content: { "application/json": { schema } } });
const id = { name: "id", in: "path", required: true, schema: { type: "string" } };

const document = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "2.3.0" },
  security: [{ token: [] }],
  paths: {
    "/orders/{id}": {
      get: {
        operationId: "getOrder",
        summary: "Returns an order",
        parameters: [id],
        responses: {
          200: json("The order", { $ref: "#/components/schemas/Order" }),
          404: json("The order does not exist", { $ref: "#/components/schemas/Problem" }),
        },
      },
    },
    "/orders/{id}/refund": {
      post: {
        operationId: "refundOrder",
        summary: "Pays back the price of an order",
        parameters: [id],
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: { type: "object", required: ["reason"], properties: { reason: { type: "string" } } },
            },
          },
        },
        responses: {
          200: json("The refunded order", { $ref: "#/components/schemas/Order" }),
          409: json("The order cannot be refunded", { $ref: "#/components/schemas/Problem" }),
        },
      },
    },
  },
  components: { schemas: { Order, Problem }, securitySchemes: { token: { type: "http", scheme: "bearer" } } },
};

/** Starts the shop with three orders. */
export function startShopAPI(token: string): Promise<API> {
  const orders = new Map(
    [
      { id: "B-1041", email: "ada@example.com", item: "Coffee mug", cents: 1850, status: "delivered" },
      {
        id: "B-1042",
        email: "ada@example.com",
        item: "Notebook",
        cents: 900,
        status: "shipped",
        arrives: "2031-04-08",
      },
      { id: "B-2000", email: "grace@example.com", item: "Telescope", cents: 48000, status: "packing" },
    ].map((order) => [order.id, order]),
  );
  return startAPI(document, ["authorization", `Bearer ${token}`], ({ route }) => {
    const [, method, orderId = "", action] = /^(\w+) \/orders\/([\w-]+)(?:\/(\w+))?$/.exec(route) ?? [];
    const order = orders.get(orderId);
    if (order === undefined) return [404, { message: `There is no order ${orderId}.` }];
    if (method === "GET") return [200, order];
    if (action !== "refund") return [404, { message: `There is no route ${route}.` }];
    if (order.status !== "delivered") return [409, { message: `Order ${orderId} is not delivered.` }];
    order.status = "refunded";
    return [200, order];
  });
}
