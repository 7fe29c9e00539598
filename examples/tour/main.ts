/** The tour that `npm start` gives: what the package does, in one program that checks itself. */
import assert from "node:assert/strict";
import { type CallError, createRegistry, subscribe } from "@alkdev/operations";
import { tourHTTP } from "./http.ts";
import { countdown, createTask, greet, welcome } from "./local.ts";
import { tourMCP } from "./mcp.ts";
import { ada as identity } from "./people.ts";
import { chapter, show } from "./print.ts";
import { readWays } from "./read-ways.ts";
import { tourTravel } from "./travel.ts";

const names = readWays(process.argv.slice(2));
const registry = createRegistry({ operations: [createTask, greet, welcome, countdown] });

chapter("A function is an operation; its answer is an envelope");
const greeting = await registry.execute("text.greet", { name: "Ada" });
show('execute("text.greet", { name: "Ada" })', greeting);
assert.equal(greeting.data, "Hello, Ada!");

chapter("An answer that does not fit its schema is put right, and says so");
const created = await registry.execute("task.create", { title: "Ship it" }, { identity });
show('execute("task.create", { title: "Ship it" })', created);
assert.deepEqual(Object.keys(created.data), ["id", "title", "done"]);
assert.equal(created.meta.drift?.[0]?.kind, "stripped");

chapter("Operations compose: one that calls two others");
const welcomed = await registry.client({ identity }).team.welcome({ name: "Grace" });
show('client.team.welcome({ name: "Grace" })', welcomed);
assert.deepEqual(welcomed, { greeting: "Hello, Grace!", firstTask: "task-1" });

chapter("Errors have codes, and tell whether anything may have happened");
for (const [title, options] of [
  ["Ship it", {}],
  ["", { identity }],
  ["Ship it again", { identity }],
] as const) {
  const error: CallError = await registry.execute("task.create", { title }, options).then(
    () => assert.fail(),
    (error) => error,
  );
  show(`execute("task.create", { title: ${JSON.stringify(title)} })`, error.toJSON());
}

chapter("A subscription gives an envelope for each value, until you leave");
for await (const envelope of subscribe(registry, "clock.countdown", { from: 3 })) {
  show("clock.countdown", envelope);
  if (envelope.data === 1) break;
}

// Operations from elsewhere, one file each.
const api = await tourHTTP(registry);
const tools = await tourMCP(registry);

// And operations that run elsewhere.
await tourTravel(registry, api.documentUrl, names);

await tools.close();
await api.close();
console.log("\nThat was the tour. Read on in docs/, or change examples/tour/ and run it again.");
