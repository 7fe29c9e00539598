import assert from "node:assert/strict";
import {
  type CallError,
  defineOperation,
  FromOpenAPIUrl,
  type OperationRegistry,
  OperationType,
  subscribe,
  Type,
} from "@alkdev/operations";
import { chapter, show } from "./print.ts";
import { startWeatherAPI } from "./weather-api.ts";

/** Calls a local operation and one of an HTTP API; nothing in it says which is which. */
export const plan = defineOperation({
  namespace: "trip",
  name: "plan",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Greets a traveller with the weather",
  inputSchema: Type.Object({ name: Type.String(), city: Type.String() }),
  outputSchema: Type.Object({ greeting: Type.String(), coat: Type.Boolean() }),
  accessControl: { requiredScopes: [] },
  handler: async ({ name, city }, { env }) => {
    const greeting = await env.text!.greet!({ name });
    const forecast = await env.weather!.forecast!({ city });
    return { greeting: String(greeting.data), coat: (forecast.data as { celsius: number }).celsius < 10 };
  },
});

/**
 * The part of the tour about HTTP: an API that was never written for us, imported from its OpenAPI document. Gives the
 * API, which goes on until it is closed.
 */
export async function tourHTTP(registry: OperationRegistry): Promise<{ documentUrl: string; close(): Promise<void> }> {
  const api = await startWeatherAPI();

  chapter("An HTTP API is operations too: point at its OpenAPI document");
  const imported = await FromOpenAPIUrl(api.documentUrl, { namespace: "weather" });
  registry.registerAll(imported);
  show(
    "FromOpenAPIUrl(documentUrl)",
    imported.map(({ name, type, title }) => ({ name, type, title })),
  );
  const forecast = await registry.execute("weather.forecast", { city: "Lima" });
  show('execute("weather.forecast", { city: "Lima" })', forecast);
  assert.deepEqual(forecast.data, { sky: "garúa", celsius: 17 });
  assert.equal(forecast.meta.source, "http");

  chapter("An error that the document declares keeps its status and body");
  const error: CallError = await registry.execute("weather.forecast", { city: "Atlantis" }).then(
    () => assert.fail(),
    (error) => error,
  );
  show('execute("weather.forecast", { city: "Atlantis" })', error.toJSON());
  assert.equal(error.code, "HTTP_404");

  chapter("A stream of events is a subscription, live");
  const speeds: unknown[] = [];
  for await (const envelope of subscribe(registry, "weather.wind", { city: "Lima" })) {
    show("weather.wind", envelope);
    if (speeds.push((envelope.data as { speed: number }).speed) === 2) break; // the connection closes here
  }
  assert.deepEqual(speeds, [4, 7]);

  chapter("Local and HTTP compose: one operation that calls both");
  registry.register(plan);
  const planned = await registry.execute("trip.plan", { name: "Grace", city: "Oslo" });
  show('execute("trip.plan", { name: "Grace", city: "Oslo" })', planned);
  assert.deepEqual(planned.data, { greeting: "Hello, Grace!", coat: true });

  return api;
}
