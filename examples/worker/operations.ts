import { defineOperation, Type } from "@alkdev/operations";

export const countPrimes = defineOperation({
  namespace: "math",
  name: "countPrimes",
  type: "query",
  description: "Counts the primes below a number, slowly",
  inputSchema: Type.Object({ below: Type.Integer({ minimum: 0 }) }),
  outputSchema: Type.Object({ count: Type.Integer() }),
  handler: ({ below }) => {
    let count = 0;
    for (let number = 2; number < below; number++) {
      let divisor = 2;
      while (divisor * divisor <= number && number % divisor !== 0) divisor++;
      if (divisor * divisor > number) count++;
    }
    return { count };
  },
});

export const crash = defineOperation({
  namespace: "math",
  name: "crash",
  type: "mutation",
  description: "Ends its worker",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: () => process.exit(1),
});
