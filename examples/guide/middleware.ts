// #region operations
import { equal } from "node:assert/strict";
import { CallError, createRegistry, defineOperation, Type } from "@alkdev/operations";
import { circuitBreaker, concurrency, rateLimit, retry } from "@alkdev/operations/middleware";

let failures = 0;
let runs = 0;
const rate = defineOperation({
  namespace: "bank",
  name: "rate",
  type: "query",
  description: "Returns an exchange rate",
  inputSchema: Type.Object({ currency: Type.String() }),
  outputSchema: Type.Number(),
  handler: async () => {
    runs += 1;
    if (failures-- > 0) throw new CallError("UNAVAILABLE", "The bank is closed.", undefined, { retryable: true });
    return 1.08;
  },
});
const registry = createRegistry({ operations: [rate] });
// #endregion operations

// #region use
registry.use(circuitBreaker({ failures: 2, cooldown: 10_000 }), { include: ["bank.*"] });
registry.use(retry({ retries: 2, delay: 10 }), { include: ["bank.*"] });
registry.use(concurrency({ limit: 4 }), { include: ["bank.*"] });
// #endregion use

// #region retry
failures = 2;
const { data } = await registry.execute("bank.rate", { currency: "EUR" });
console.log(data, `after ${runs} runs`);
// #endregion retry
equal(runs, 3);

// #region breaker
failures = 100;
runs = 0;
for (let call = 1; call <= 3; call++) {
  const { code, retryable } = await registry.execute("bank.rate", { currency: "EUR" }).catch((error) => error);
  console.log(`call ${call}: ${code}, retryable: ${retryable}, ${runs} runs so far`);
}
// #endregion breaker
equal(runs, 6);

// #region rate
const limited = createRegistry({ operations: [rate] });
limited.use(rateLimit({ limit: 2, interval: 60_000 }), { include: ["bank.*"] });
failures = 0;

const ada = { id: "ada", scopes: [] };
const bob = { id: "bob", scopes: [] };
for (const identity of [ada, ada, ada, bob]) {
  const outcome = await limited
    .client({ identity })
    .bank.rate({ currency: "EUR" })
    .catch((error) => error.code);
  console.log(identity.id, outcome);
}
// #endregion rate
