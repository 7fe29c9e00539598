import assert from "node:assert/strict";
import {
  type CallError,
  type Identity,
  type OperationRegistry,
  type ResponseEnvelope,
  subscribe,
} from "@alkdev/operations";
import { ada, guest } from "./people.ts";
import { chapter, table } from "./print.ts";
import { type Way, ways } from "./ways.ts";

interface Asked {
  id: string;
  input: object;
  identity: Identity;
  /** For a subscription: after how many values it is left. */
  values?: number;
}

/** The calls of the tour, once more. */
const calls: Asked[] = [
  { id: "text.greet", input: { name: "Ada" }, identity: guest },
  { id: "task.create", input: { title: "Ship it" }, identity: ada },
  { id: "task.create", input: { title: "Ship it" }, identity: guest },
  { id: "task.create", input: { title: "" }, identity: ada },
  { id: "task.create", input: { title: "Ship it again" }, identity: ada },
  { id: "team.welcome", input: { name: "Grace" }, identity: ada },
  { id: "clock.countdown", input: { from: 3 }, identity: guest, values: 3 },
  { id: "weather.forecast", input: { city: "Lima" }, identity: guest },
  { id: "weather.forecast", input: { city: "Atlantis" }, identity: guest },
  { id: "weather.wind", input: { city: "Lima" }, identity: guest, values: 2 },
  { id: "trip.plan", input: { name: "Grace", city: "Oslo" }, identity: guest },
  { id: "packing.suggest", input: { celsius: 17 }, identity: guest },
  { id: "packing.weigh", input: { items: ["umbrella"] }, identity: guest },
  { id: "trip.prepare", input: { name: "Grace", city: "Oslo" }, identity: guest },
];

/** The part of the tour about distance: the same calls by other ways, and the same answers. */
export async function tourTravel(registry: OperationRegistry, documentUrl: string, names: string[]): Promise<void> {
  chapter(`The same calls through ${names.join(", ")}: the same answers`);
  const direct = await Promise.all(calls.map((asked) => answerOf(askDirectly(registry, asked))));
  const rows = calls.map(({ id }, index) => [id, summary(direct[index])]);
  for (const name of names) {
    const way = await ways[name]!(registry, documentUrl);
    const travelled = await Promise.all(calls.map((asked) => answerOf(askThrough(way, asked))));
    await way.close();
    assert.deepStrictEqual(travelled, direct);
    for (const row of rows) row.push("same");
  }
  table(["operation", "directly", ...names], rows);
  console.log(`\n${calls.length} calls, ${names.length + 1} ways, every envelope and every error the same.`);
}

function askDirectly(registry: OperationRegistry, { id, input, identity, values }: Asked) {
  if (values === undefined) return registry.execute(id, input, { identity });
  return take(subscribe(registry, id, input, { identity }), values);
}

function askThrough(way: Way, { id, input, identity, values }: Asked) {
  const calls = way.as(identity);
  if (values === undefined) return calls.call(id, input, { identity });
  return take(calls.subscribe(id, input, { identity }), values);
}

async function take(values: AsyncIterable<ResponseEnvelope>, count: number): Promise<ResponseEnvelope[]> {
  const taken: ResponseEnvelope[] = [];
  for await (const value of values) if (taken.push(value) === count) break;
  return taken;
}

/** An envelope, several, or an error, without the time of day in it. */
async function answerOf(answer: Promise<ResponseEnvelope | ResponseEnvelope[]>): Promise<unknown> {
  const value = await answer.catch((error: CallError) => error.toJSON());
  return JSON.parse(JSON.stringify(value, (key, inner) => (key === "timestamp" || key === "date" ? "…" : inner)));
}

function summary(answer: unknown): string {
  if (Array.isArray(answer)) return answer.map(({ data }) => JSON.stringify(data)).join(", ");
  const { code, data } = answer as { code?: string; data?: unknown };
  return code ?? JSON.stringify(data);
}
