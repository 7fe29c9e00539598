/** The API of a help desk: tickets. It has an OpenAPI document and needs a key in a header. */
import { type API, startAPI } from "./http-api.ts";

const Ticket = {
  type: "object",
  required: ["id", "email", "subject", "priority"],
  properties: {
    id: { type: "string" },
    email: { type: "string" },
    subject: { type: "string" },
    priority: { enum: ["low", "normal", "high"] },
  },
};
const json = (schema: object) => ({ "application/json": { schema } });

const document = {
  openapi: "3.0.3",
  info: { title: "Tickets", version: "1.0.0" },
  security: [{ key: [] }],
  paths: {
    "/tickets": {
      get: {
        operationId: "listTickets",
        summary: "Lists tickets, optionally of one customer",
        parameters: [{ name: "email", in: "query", schema: { type: "string" } }],
        responses: {
          200: {
            description: "Tickets",
            content: json({ type: "array", items: { $ref: "#/components/schemas/Ticket" } }),
          },
        },
      },
      post: {
        operationId: "createTicket",
        summary: "Creates a ticket",
        requestBody: {
          required: true,
          content: json({
            type: "object",
            required: ["email", "subject"],
            properties: {
              email: { type: "string" },
              subject: { type: "string" },
              priority: { enum: ["low", "normal", "high"], default: "normal" },
            },
          }),
        },
        responses: { 201: { description: "The ticket", content: json({ $ref: "#/components/schemas/Ticket" }) } },
      },
    },
  },
  components: {
    schemas: { Ticket },
    securitySchemes: { key: { type: "apiKey", in: "header", name: "x-api-key" } },
  },
};

/** Starts the help desk without tickets. */
export function startTicketAPI(key: string): Promise<API> {
  const tickets: Array<Record<string, unknown>> = [];
  return startAPI(document, ["x-api-key", key], ({ route, query, body }) => {
    if (route === "POST /tickets") {
      const ticket = { priority: "normal", ...body, id: `T-${tickets.length + 1}` };
      tickets.push(ticket);
      return [201, ticket];
    }
    if (route !== "GET /tickets") return [404, { message: `There is no route ${route}.` }];
    const email = query.get("email");
    return [200, tickets.filter((ticket) => email === null || ticket["email"] === email)];
  });
}
