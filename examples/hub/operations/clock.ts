import { setTimeout } from "node:timers/promises";
import { defineOperation, Type } from "@alkdev/operations";

export default defineOperation({
  namespace: "clock",
  name: "tick",
  type: "subscription",
  description: "Emits the time once per period",
  inputSchema: Type.Object({ seconds: Type.Number({ default: 1, minimum: 0.01, maximum: 3600 }) }),
  outputSchema: Type.Object({ count: Type.Integer(), time: Type.String({ format: "date-time" }) }),
  handler: async function* ({ seconds }, { signal }) {
    for (let count = 1; ; count++) {
      yield { count, time: new Date().toISOString() };
      await setTimeout(seconds * 1_000, undefined, { signal });
    }
  },
});
