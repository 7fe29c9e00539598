import assert from "node:assert/strict";
// #region server
import { createRegistry, defineNamespace, Type } from "@alkdev/operations";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";

const define = defineNamespace("task");
const titles = new Map([[1, "Ship it"]]);

const find = define({
  name: "find",
  type: "query",
  inputSchema: Type.Object({ words: Type.Array(Type.String()), limit: Type.Integer({ default: 10 }) }),
  outputSchema: Type.Array(Type.String()),
  handler: ({ words, limit }) =>
    [...titles.values()].filter((title) => words.every((word) => title.includes(word))).slice(0, limit),
});
const countdown = define({
  name: "countdown",
  type: "subscription",
  inputSchema: Type.Object({ from: Type.Integer() }),
  outputSchema: Type.Integer(),
  handler: async function* ({ from }) {
    for (let left = from; left >= 0; left--) yield left;
  },
});
// #endregion server

// #region route
const rename = define({
  name: "rename",
  type: "mutation",
  http: "PUT /tasks/{id}/title",
  inputSchema: Type.Object({ id: Type.Integer(), title: Type.String({ minLength: 1 }) }),
  outputSchema: Type.Object({ id: Type.Integer(), title: Type.String() }),
  errors: { TASK_UNKNOWN: { schema: Type.Object({ id: Type.Integer() }), httpStatus: 404 } },
  handler: ({ id, title }, { errors }) => {
    if (!titles.has(id)) throw errors.TASK_UNKNOWN({ id }, `There is no task ${id}.`);
    titles.set(id, title);
    return { id, title };
  },
});
// #endregion route

// #region serve
const registry = createRegistry({ operations: [find, countdown, rename] });
const server = serveHTTP(registry, { authenticate: "none" });
// #endregion serve

const listener = await listen({ "/": server });
const { url } = listener;

/** Prints a response as `curl -i` does, without the headers that are the same everywhere. */
async function curl(method: string, path: string, headers: Record<string, string> = {}, body?: string) {
  const response = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) });
  const shown = ["allow", "content-type", "operation-id", "request-id"];
  console.log(`HTTP/1.1 ${response.status} ${response.statusText}`);
  for (const [name, value] of response.headers) if (shown.includes(name)) console.log(`${name}: ${value}`);
  const text = await response.text();
  const isProblem = response.headers.get("content-type") === "application/problem+json";
  console.log(`\n${isProblem ? JSON.stringify(JSON.parse(text), null, 2) : text.trimEnd()}\n`);
  return { status: response.status, text };
}

const json = { "content-type": "application/json" };
const found = await curl("GET", "/task/find?words=Ship&words=it&limit=5");
const renamed = await curl("PUT", "/tasks/1/title", json, '{"title":"Ship it today"}');
const invalid = await curl("PUT", "/tasks/1/title", json, '{"title":""}');
const unknown = await curl("PUT", "/tasks/7/title", json, '{"title":"Rest"}');
const counted = await curl("GET", "/task/countdown?from=2");
const envelope = await curl("GET", "/task/find?words=today", { accept: "application/vnd.alkdev.envelope+json" });
await listener.close();

assert.deepEqual(JSON.parse(found.text), ["Ship it"]);
assert.deepEqual(JSON.parse(renamed.text), { id: 1, title: "Ship it today" });
assert.deepEqual([invalid.status, JSON.parse(invalid.text).code], [400, "VALIDATION_ERROR"]);
assert.deepEqual([unknown.status, JSON.parse(unknown.text).details], [404, { id: 7 }]);
assert.match(counted.text, /^id: 0\ndata: 2\n\n/);
assert.deepEqual(JSON.parse(envelope.text).data, ["Ship it today"]);
