/** What the assistant can do for a customer. Each operation is composed of operations of the two APIs and MCP servers. */
import { type CallOperation, defineNamespace, isCallError, Type } from "@alkdev/operations";

interface Order {
  id: string;
  email: string;
  item: string;
  cents: number;
  status: string;
  arrives?: string;
}

/** Returns an order of this customer. Orders of others are treated like orders that do not exist. */
async function findOrder(call: CallOperation, id: string, email: string): Promise<Order | undefined> {
  try {
    const order = await call<Order>("shop.getOrder", { id }); // an HTTP endpoint
    return order.email === email ? order : undefined;
  } catch (error) {
    if (isCallError(error) && error.code === "HTTP_404") return undefined;
    throw error;
  }
}

// #region define
/** Callers need the scope `customer`. The id of their identity is their email address. */
const define = defineNamespace("support", { accessControl: { requiredScopes: ["customer"] } });
const errors = { ORDER_UNKNOWN: Type.Object({ order: Type.String() }) };

const refund = define({
  name: "refund",
  type: "mutation",
  title: "Refund an order",
  description: "Pays back the price of a delivered order, records it as a ticket and confirms it by mail",
  inputSchema: Type.Object({ order: Type.String(), reason: Type.String() }),
  outputSchema: Type.Object({ order: Type.String(), cents: Type.Integer(), ticket: Type.String() }),
  errors: { ...errors, NOT_REFUNDABLE: Type.Object({ status: Type.String() }) },
  handler: async ({ order: id, reason }, { call, errors, identity }) => {
    const email = identity!.id;
    const order = await findOrder(call, id, email);
    if (order === undefined) throw errors.ORDER_UNKNOWN({ order: id }, `You have no order ${id}.`);
    if (order.status !== "delivered") {
      throw errors.NOT_REFUNDABLE({ status: order.status }, `Order ${id} cannot be refunded: it is ${order.status}.`);
    }
    await call("shop.refundOrder", { id, body: { reason } }); // an HTTP endpoint
    const subject = `Refund of order ${id}`;
    const ticket = await call<{ id: string }>("tickets.createTicket", { body: { email, subject } }); // another API
    await call("mail.send", { to: email, subject, body: `We refunded your ${order.item}.` }); // an MCP tool
    return { order: id, cents: order.cents, ticket: ticket.id };
  },
});
// #endregion define

const track = define({
  name: "track",
  type: "query",
  title: "Track an order",
  description: "Returns where an order is and when it arrives",
  inputSchema: Type.Object({ order: Type.String() }),
  outputSchema: Type.Object({
    order: Type.String(),
    item: Type.String(),
    status: Type.String(),
    arrives: Type.Optional(Type.String()),
  }),
  errors,
  handler: async ({ order: id }, { call, errors, identity }) => {
    const order = await findOrder(call, id, identity!.id);
    if (order === undefined) throw errors.ORDER_UNKNOWN({ order: id }, `You have no order ${id}.`);
    const { item, status, arrives } = order;
    return { order: id, item, status, ...(arrives !== undefined && { arrives }) };
  },
});

const help = define({
  name: "help",
  type: "query",
  title: "Explain how to return an item, get an invoice or reset a password",
  description: "Returns the article of the help centre that fits a question best",
  inputSchema: Type.Object({ question: Type.String() }),
  outputSchema: Type.Object({ title: Type.String(), text: Type.String() }),
  errors: { NO_ARTICLE: Type.Object({}) },
  handler: async ({ question }, { call, errors }) => {
    const { articles } = await call<{ articles: Array<{ title: string; text: string }> }>("knowledge.search", {
      words: question,
    });
    const [best] = articles;
    if (best === undefined) throw errors.NO_ARTICLE({}, "The help centre has no article about this.");
    return { title: best.title, text: best.text };
  },
});

const escalate = define({
  name: "escalate",
  type: "mutation",
  title: "Talk to a person",
  description: "Creates an urgent ticket for a colleague and notifies the team by mail",
  inputSchema: Type.Object({ request: Type.String() }),
  outputSchema: Type.Object({ ticket: Type.String() }),
  handler: async ({ request }, { call, identity }) => {
    const email = identity!.id;
    const body = { email, subject: request, priority: "high" };
    const { id } = await call<{ id: string }>("tickets.createTicket", { body });
    await call("mail.send", { to: "team@example.com", subject: `Ticket ${id}`, body: `${email}: ${request}` });
    return { ticket: id };
  },
});

export const operations = [track, help, refund, escalate] as const;
