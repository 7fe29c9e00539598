import assert from "node:assert/strict";
import type { CallError, OperationRegistry } from "@alkdev/operations";
import { heading, show } from "./print.ts";
import { ada } from "./transports.ts";

/** The parts of the tour that `--all` adds. */
export async function showMore(registry: OperationRegistry): Promise<void> {
  const identity = ada;
  const failure = (call: Promise<unknown>): Promise<CallError> =>
    call.then(
      () => assert.fail("The call was expected to fail."),
      (error) => error,
    );

  heading("A function, an HTTP endpoint and an MCP tool return the same envelope");
  const greeting = await registry.execute("text.greet", { name: "Ada" });
  show('execute("text.greet", { name: "Ada" })', greeting);
  const forecast = await registry.execute("weather.forecast", { city: "Lima" });
  show('execute("weather.forecast", { city: "Lima" })', forecast);
  const suggestion = await registry.execute("packing.suggest", { celsius: 17 });
  show('execute("packing.suggest", { celsius: 17 })', suggestion);
  assert.deepEqual(
    [greeting, forecast, suggestion].map(({ meta }) => meta.source),
    ["local", "http", "mcp"],
  );
  assert.deepEqual(forecast.data, { sky: "garúa", celsius: 17 });

  heading("Data that does not match its schema is repaired and reported");
  const created = await registry.execute("task.create", { title: "Ship it" }, { identity });
  show('execute("task.create", { title: "Ship it" }, { identity: ada }), data', created.data);
  show('execute("task.create", { title: "Ship it" }, { identity: ada }), meta.drift', created.meta.drift);
  assert.equal(created.meta.drift?.[0]?.kind, "stripped");

  heading("Errors have a code and report whether the handler may have run");
  for (const [title, options, text] of [
    ["Ship it", {}, ""],
    ["", { identity }, ", { identity: ada }"],
    ["Rest", { identity }, ", { identity: ada }"],
  ] as const) {
    const error = await failure(registry.execute("task.create", { title }, options));
    show(`execute("task.create", { title: ${JSON.stringify(title)} }${text})`, error.toJSON());
  }
  const missing = await failure(registry.execute("weather.forecast", { city: "Atlantis" }));
  show('execute("weather.forecast", { city: "Atlantis" })', missing.toJSON());
  assert.equal(missing.code, "HTTP_404");

  heading("A failed MCP tool returns an envelope with isError");
  const weighed = await registry.execute("packing.weigh", { items: ["umbrella"] });
  show('execute("packing.weigh", { items: ["umbrella"] })', weighed);
  assert(weighed.meta.source === "mcp" && weighed.meta.isError);

  heading("A subscription yields an envelope for each value until you leave the loop");
  for await (const envelope of registry.subscribe("clock.countdown", { from: 3 })) {
    show('subscribe("clock.countdown", { from: 3 })', envelope);
    if (envelope.data === 2) break;
  }
  const speeds: unknown[] = [];
  for await (const envelope of registry.subscribe("weather.wind", { city: "Lima" })) {
    show('subscribe("weather.wind", { city: "Lima" })', envelope.data);
    if (speeds.push((envelope.data as { speed: number }).speed) === 2) break; // closes the event stream
  }
  assert.deepEqual(speeds, [4, 7]);

  heading("Search finds operations of every source");
  for (const text of ["what to pack", "weather"]) {
    show(
      `search(${JSON.stringify(text)})`,
      registry.search(text).map(({ namespace, name }) => `${namespace}.${name}`),
    );
  }
}
