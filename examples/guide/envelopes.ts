// #region drift
import { createRegistry, defineOperation, Type } from "@alkdev/operations";

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
  type: "query",
  description: "Returns the data of a careless service",
  inputSchema: Type.Object({}),
  outputSchema: Weather,
  handler: () => JSON.parse('{"city":"Oslo","celsius":"-3.5","sky":"green","wind":{"speed":12},"_shard":7}'),
});

const registry = createRegistry({ operations: [today], log: false });
const { data, meta } = await registry.execute("weather.today");
console.log(data);
console.log(meta.drift);
// #endregion drift

// #region policies
const checked = createRegistry({ operations: [{ ...today, outputPolicy: "check" }], log: false });
const untouched = await checked.execute("weather.today");
console.log(untouched.data, untouched.meta.drift?.length);

const strict = createRegistry({ operations: [today], outputPolicy: "strict" });
const refused = await strict.execute("weather.today").catch((error) => error);
console.log(`${refused.code}: ${refused.message}`);

// #endregion policies

// #region own
import { httpEnvelope, isResponseEnvelope, unwrap } from "@alkdev/operations";

const proxied = defineOperation({
  namespace: "weather",
  name: "proxied",
  type: "query",
  description: "Returns the status and headers of another server",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ city: Type.String() }),
  handler: () => {
    const headers = { "x-cache": "hit" };
    return httpEnvelope({ city: "Oslo" }, { statusCode: 200, headers, contentType: "application/json" });
  },
});

const result = await createRegistry({ operations: [proxied] }).execute("weather.proxied");
if (result.meta.source === "http") console.log(result.meta.statusCode, result.meta.headers["x-cache"]);
console.log(unwrap(result).city, isResponseEnvelope(JSON.parse(JSON.stringify(result))));

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
assert.equal(result.meta.source, "http");
