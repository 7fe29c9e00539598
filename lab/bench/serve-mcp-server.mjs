/**
 * Serves the tool `bench_sum`: over stdio, or on a free port that it prints, and there at `/many` among 1,000 operations.
 */
import { createRegistry, defineOperation, Type } from "../../dist/index.js";
import { listen } from "../../dist/node/index.js";
import { serveMCP, serveMCPStdio } from "../../dist/serve/mcp/index.js";

/** Creates a registry with `count` operations. */
function buildRegistry(count) {
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
else {
  const serve = (count) => serveMCP(buildRegistry(count), { authenticate: "none", mode: "tools" });
  const { port } = await listen({ "/mcp": serve(1), "/many": serve(1_000) });
  process.stdout.write(`${port}\n`);
}
