/** A small program as a user writes it. It runs from the packed package on Node and in a browser. */
import { CallError, createRegistry, defineOperation, subscribe, Type } from "@alkdev/operations";

const addOperation = defineOperation({
  namespace: "math",
  name: "add",
  version: "1.0.0",
  type: "query",
  description: "Adds two numbers",
  inputSchema: Type.Object({ left: Type.Number(), right: Type.Optional(Type.Number({ default: 1 })) }),
  outputSchema: Type.Object({ sum: Type.Number() }),
  accessControl: { requiredScopes: ["math"] },
  handler: ({ left, right = 0 }) => ({ sum: left + right, excess: true }),
});

const countOperation = defineOperation({
  namespace: "math",
  name: "count",
  version: "1.0.0",
  type: "subscription",
  description: "Counts up",
  inputSchema: Type.Object({ to: Type.Integer() }),
  outputSchema: Type.Integer(),
  accessControl: { requiredScopes: [] },
  handler: async function* ({ to }) {
    for (let value = 1; value <= to; value++) yield value;
  },
});

/** What the program saw. Plain JSON, so that it can leave a browser. */
export interface Report {
  sum: unknown;
  source: string;
  drift: unknown;
  counted: unknown[];
  refused: string;
  denied: string;
}

/** What a working package makes the program see. */
export const expectedReport: Report = {
  sum: { sum: 3 },
  source: "local",
  drift: [{ path: "/excess", kind: "stripped" }],
  counted: [1, 2, 3],
  refused: "VALIDATION_ERROR",
  denied: "ACCESS_DENIED",
};

export async function runProgram(): Promise<Report> {
  const registry = createRegistry({ operations: [addOperation, countOperation] });
  const options = { identity: { id: "ada", scopes: ["math"] } };
  const { data, meta } = await registry.execute("math.add", { left: 2 }, options);
  const counted: unknown[] = [];
  for await (const envelope of subscribe(registry, "math.count", { to: 3 })) counted.push(envelope.data);
  // @ts-expect-error: the registry knows that `left` is a number
  const refused = await codeOf(registry.execute("math.add", { left: "two" }, options));
  const denied = await codeOf(registry.execute("math.add", { left: 2 }));
  return {
    sum: data,
    source: meta.source,
    drift: meta.drift?.map(({ path, kind }) => ({ path, kind })),
    counted,
    refused,
    denied,
  };
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CallError) return error.code;
  }
  return "no CallError";
}
