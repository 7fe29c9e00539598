/** Serves operations, one of which is the tool `bench_sum`: over stdio, or with `http` on a free port that it prints. */
import { createRegistry, defineOperation, Type } from "../dist/index.js";
import { listen } from "../dist/node/index.js";
import { serveMCP, serveMCPStdio } from "../dist/serve/mcp/index.js";

/** Creates a registry with `count` operations. */
export function buildRegistry(count) {
  const definition = {
    namespace: "bench",
    type: "query",
    description: "Adds two numbers",
    inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
    outputSchema: Type.Object({ sum: Type.Number() }),
    handler: ({ a, b }) => ({ sum: a + b }),
  };
  const others = Array.from({ length: count - 1 }, (_, index) => `sum${index}`);
  return createRegistry({ operations: ["sum", ...others].map((name) => defineOperation({ ...definition, name })) });
}

if (process.argv[2] === "stdio") await serveMCPStdio(buildRegistry(1));
if (process.argv[2] === "http") {
  const { port } = await listen({ "/mcp": serveMCP(buildRegistry(1), { authenticate: "none" }) });
  process.stdout.write(`${port}\n`);
}
