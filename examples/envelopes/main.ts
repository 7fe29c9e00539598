// #region drift
import { createRegistry, defineOperation, OperationType, Type } from "@alkdev/operations";

const Weather = Type.Object({
  city: Type.String(),
  celsius: Type.Number(),
  sky: Type.Union([Type.Literal("clear"), Type.Literal("cloudy")]),
  wind: Type.Object({ speed: Type.Number(), unit: Type.String({ default: "km/h" }) }),
  alerts: Type.Array(Type.String()),
});

const today = defineOperation({
  namespace: "weather",
  name: "today",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "What a careless service sends",
  inputSchema: Type.Object({}),
  outputSchema: Weather,
  accessControl: { requiredScopes: [] },
  handler: () => JSON.parse('{"city":"Oslo","celsius":"-3.5","sky":"green","wind":{"speed":12},"_shard":7}'),
});

const registry = createRegistry({ operations: [today] });
const { data, meta } = await registry.execute("weather.today", {});
console.log(data);
console.log(meta.drift);
// #endregion drift

// #region policies
const checked = createRegistry({ operations: [{ ...today, outputPolicy: "check" }] });
const untouched = await checked.execute("weather.today", {});
console.log(untouched.data, untouched.meta.drift?.length);

const strict = createRegistry({ operations: [today], outputPolicy: "strict" });
const refused = await strict.execute("weather.today", {}).catch((error) => error);
console.log(`${refused.code}: ${refused.message}`);

// #endregion policies

// #region own
import { httpEnvelope, isResponseEnvelope, unwrap } from "@alkdev/operations";

const proxied = defineOperation({
  namespace: "weather",
  name: "proxied",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Knows what the wire said, and says so",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ city: Type.String() }),
  accessControl: { requiredScopes: [] },
  handler: () => {
    const headers = { "x-cache": "hit" };
    return httpEnvelope({ city: "Oslo" }, { statusCode: 200, headers, contentType: "application/json" });
  },
});

const answer = await createRegistry({ operations: [proxied] }).execute("weather.proxied", {});
if (answer.meta.source === "http") console.log(answer.meta.statusCode, answer.meta.headers["x-cache"]);
console.log(unwrap(answer).city, isResponseEnvelope(JSON.parse(JSON.stringify(answer))));

// #endregion own

import assert from "node:assert/strict";

assert.deepEqual(data, {
  city: "Oslo",
  celsius: -3.5,
  sky: "green",
  wind: { speed: 12, unit: "km/h" },
  alerts: [],
});
assert.deepEqual(
  meta.drift?.map(({ path, kind }) => `${kind} ${path}`),
  ["converted /celsius", "mismatch /sky", "filled /wind/unit", "stripped /_shard", "invented /alerts"],
);
assert.deepEqual(Object.keys(untouched.data), ["city", "celsius", "sky", "wind", "_shard"]);
assert.equal(refused.code, "OUTPUT_INVALID");
assert.equal(answer.meta.source, "http");
