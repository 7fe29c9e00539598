import { connect } from "@alkdev/operations/client";
import type { registry } from "./server.ts"; // erased: neither the registry nor a schema is loaded

const { SERVER: url = "http://127.0.0.1:8080", TOKEN: token = "" } = process.env;
await using client = connect<typeof registry>(url, { token });

const task = await client.task.create({ title: "Rest" });
console.log(task.id, await client.task.find({ text: "Rest" }));
