import assert from "node:assert/strict";
import type { CallError, Identity, OperationRegistry, ResponseEnvelope } from "@alkdev/operations";
import { heading, table } from "./print.ts";
import { ada, type Connection, guest, transports } from "./transports.ts";

interface Call {
  id: string;
  input: object;
  identity: Identity;
  /** For a subscription: the number of values to read. */
  values?: number;
}

const calls: Call[] = [
  { id: "text.greet", input: { name: "Ada" }, identity: guest },
  { id: "task.create", input: { title: "Ship it" }, identity: ada },
  { id: "task.create", input: { title: "Ship it" }, identity: guest },
  { id: "task.create", input: { title: "" }, identity: ada },
  { id: "task.create", input: { title: "Rest" }, identity: ada },
  { id: "clock.countdown", input: { from: 3 }, identity: guest, values: 3 },
  { id: "weather.forecast", input: { city: "Lima" }, identity: guest },
  { id: "weather.forecast", input: { city: "Atlantis" }, identity: guest },
  { id: "weather.wind", input: { city: "Lima" }, identity: guest, values: 2 },
  { id: "packing.suggest", input: { celsius: 17 }, identity: guest },
  { id: "packing.weigh", input: { items: ["umbrella"] }, identity: guest },
  { id: "trip.prepare", input: { name: "Grace", city: "Oslo" }, identity: guest },
];

/** Makes the same calls directly and over each transport, and checks that all results are equal. */
export async function compareTransports(
  registry: OperationRegistry,
  documentUrl: string,
  names: string[],
  onOpen: (close: () => Promise<void>) => void,
): Promise<void> {
  heading("The same result over every transport");
  const direct = await Promise.all(calls.map((call) => settle(callDirectly(registry, call))));
  const rows = calls.map(({ id, identity }, index) => [id, identity.id, summary(direct[index])]);
  for (const name of names) {
    const connection = await transports[name]!(registry, documentUrl);
    onOpen(() => connection.close());
    const results = await Promise.all(calls.map((call) => settle(callOver(connection, call))));
    assert.deepStrictEqual(results, direct);
    for (const row of rows) row.push("same");
  }
  table(["operation", "caller", "direct call", ...names], rows);
  const count = ["one", "two", "three", "four", "five", "six"][names.length];
  console.log(`${calls.length} calls over ${count} paths return the same envelopes and errors.`);
}

function callDirectly(registry: OperationRegistry, { id, input, identity, values }: Call) {
  if (values === undefined) return registry.execute(id, input, { identity });
  return take(registry.subscribe(id, input, { identity }), values);
}

function callOver(connection: Connection, { id, input, identity, values }: Call) {
  const caller = connection.as(identity);
  if (values === undefined) return caller.call(id, input, { identity });
  return take(caller.subscribe(id, input, { identity }), values);
}

async function take(values: AsyncIterable<ResponseEnvelope>, count: number): Promise<ResponseEnvelope[]> {
  const taken: ResponseEnvelope[] = [];
  for await (const value of values) if (taken.push(value) === count) break;
  return taken;
}

/** Returns envelopes or the error as JSON, without the time of day. */
async function settle(call: Promise<ResponseEnvelope | ResponseEnvelope[]>): Promise<unknown> {
  const value = await call.catch((error: CallError) => error.toJSON());
  return JSON.parse(JSON.stringify(value, (key, inner) => (key === "timestamp" || key === "date" ? "…" : inner)));
}

function summary(result: unknown): string {
  if (Array.isArray(result)) return result.map(({ data }) => JSON.stringify(data)).join(", ");
  const { code, data } = result as { code?: string; data?: unknown };
  return code ?? JSON.stringify(data);
}
