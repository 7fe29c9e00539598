import assert from "node:assert/strict";
import { connect } from "@alkdev/operations/client";
import type { registry } from "./server.ts";

// This example starts the server in the same process, on a free port.
process.env["PORT"] = "0";
const { listener, token } = await import("./server.ts");
const { url } = listener;
const authorization = `Bearer ${token}`;

/** Does what `curl` does, and prints the body. Errors are indented, as by `jq`. */
async function curl(path: string, headers: Record<string, string>, body?: string): Promise<string> {
  const init = body === undefined ? { headers } : { method: "POST", headers, body };
  const response = await fetch(`${url}${path}`, init);
  const text = await response.text();
  console.log(response.ok ? text : JSON.stringify(JSON.parse(text), null, 2));
  return text;
}

const json = { authorization, "content-type": "application/json" };
const created = await curl("/task/create", json, '{"title":"Ship it"}');
const found = await curl("/task/find?text=Ship", { authorization });
const refused = await curl("/task/find", {});
assert.deepEqual(JSON.parse(created), { id: 1, title: "Ship it" });
assert.deepEqual(JSON.parse(found), [{ id: 1, title: "Ship it" }]);
assert.equal(JSON.parse(refused).code, "ACCESS_DENIED");

const response = await fetch(`${url}/openapi.json`, { headers: { authorization } });
const document = (await response.json()) as { paths: object };
assert.deepEqual(Object.keys(document.paths), ["/task/create", "/task/find"]);

process.env["SERVER"] = url;
process.env["TOKEN"] = token;
await import("./client.ts");

const socket = connect<typeof registry>(`${url.replace("http", "ws")}/calls`, { token });
assert.deepEqual(await socket.task.find({ text: "Rest" }), [{ id: 2, title: "Rest" }]);
await socket.close();
await listener.close();
