import { threadId } from "node:worker_threads";
import { defineOperation, OperationType, Type } from "@alkdev/operations";

export const countPrimes = defineOperation({
  namespace: "math",
  name: "countPrimes",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Counts the primes below a number, slowly",
  inputSchema: Type.Object({ below: Type.Integer({ minimum: 0 }) }),
  outputSchema: Type.Object({ count: Type.Integer(), worker: Type.String() }),
  accessControl: { requiredScopes: [] },
  handler: ({ below }) => {
    let count = 0;
    for (let number = 2; number < below; number++) {
      let divisor = 2;
      while (divisor * divisor <= number && number % divisor !== 0) divisor++;
      if (divisor * divisor > number) count++;
    }
    return { count, worker: `process ${process.pid}, thread ${threadId}` };
  },
});

export const crash = defineOperation({
  namespace: "math",
  name: "crash",
  version: "1.0.0",
  type: OperationType.MUTATION,
  description: "Ends its worker",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler: () => process.exit(1),
});
