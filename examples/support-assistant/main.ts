import assert from "node:assert/strict";
import type { OperationRegistry } from "@alkdev/operations";
import { Assistant } from "./assistant.ts";
import { startShopAPI } from "./shop-api.ts";
import { startTicketAPI } from "./ticket-api.ts";
import { createToolBelt } from "./tool-belt.ts";

// #region start
const shop = await startShopAPI("shop-secret");
const tickets = await startTicketAPI("desk-secret");
const tools: OperationRegistry = await createToolBelt({
  shop: { documentUrl: shop.documentUrl, token: "shop-secret" },
  tickets: { documentUrl: tickets.documentUrl, key: "desk-secret" },
});
// #endregion start

for (const { namespace, name, accessControl } of tools.list()) {
  console.log(`${`${namespace}.${name}`.padEnd(22)} requires ${accessControl.requiredScopes}`);
}

// #region log
tools.on("call", (event) => {
  if (event.kind !== "succeeded" || event.parentRequestId === undefined) return;
  console.log(`    ${event.operationId} (${event.envelope?.meta.source})`);
});
// #endregion log

// #region conversation
const ada = { id: "ada@example.com", scopes: ["customer"] };
const assistant = new Assistant(tools, ada);

const conversation = [
  ["Where is my order B-1042?", "Your Notebook (B-1042) is shipped and arrives on 2031-04-08."],
  ["How do I return an item?", "Return an item: Send it back within 30 days. The label is in the parcel."],
  [
    "The mug of order B-1041 is broken. Please refund it.",
    "I refunded 18.50 EUR for B-1041 and sent you a mail. The ticket is T-1.",
  ],
  ["Please refund B-1042 as well.", "Order B-1042 cannot be refunded: it is shipped."],
  ["Where is order B-2000?", "You have no order B-2000."], // it belongs to another customer
  ["I would like to talk to a person.", "A colleague will contact you. The ticket is T-2."],
  ["Sing!", "I can track orders, refund them, explain how things work, or get a colleague."],
] as const;

for (const [message, expected] of conversation) {
  console.log(`\ncustomer:  ${message}`);
  const reply = await assistant.reply(message);
  console.log(`assistant: ${reply}`);
  assert.equal(reply, expected);
}
// #endregion conversation

// #region refused
// A customer cannot use the APIs directly, not even through an assistant that is deceived.
const refused = await tools
  .execute("shop.refundOrder", { id: "B-1042", body: {} }, { identity: ada })
  .catch((it) => it);
console.log(`\n${refused.code}: ${refused.message}`);
// #endregion refused

// #region staff
const staff = tools.client({ identity: { id: "grace", scopes: ["staff"] } });
const ticketList = await staff.tickets!.listTickets!({ email: ada.id });
const { mails } = (await staff.mail!.outbox!()) as { mails: Array<{ to: string; subject: string }> };
console.log(ticketList);
console.log(mails.map(({ to, subject }) => `${to}: ${subject}`));
// #endregion staff

await tools.close();
await shop.close();
await tickets.close();

assert.equal(refused.code, "ACCESS_DENIED");
assert.deepEqual(ticketList, [
  { id: "T-1", email: "ada@example.com", subject: "Refund of order B-1041", priority: "normal" },
  { id: "T-2", email: "ada@example.com", subject: "I would like to talk to a person.", priority: "high" },
]);
assert.deepEqual(
  mails.map(({ to, subject }) => [to, subject]),
  [
    ["ada@example.com", "Refund of order B-1041"],
    ["team@example.com", "Ticket T-2"],
  ],
);
