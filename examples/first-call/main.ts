// biome-ignore-all format: The program of the README has to fit on one screen.
// #region program
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { connect } from "@alkdev/operations/client";
import { listen } from "@alkdev/operations/node";
import { serveHTTP } from "@alkdev/operations/serve-http";

const hello = defineOperation({
  namespace: "greeting", name: "hello", type: "query",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ text: Type.String() }),
  handler: ({ name }) => ({ text: `Hello, ${name}!` }),
});
const registry = createRegistry({ operations: [hello] });
const server = await listen({ "/": serveHTTP(registry, { authenticate: "none" }) }, { port: 0 });
console.log(await connect<typeof registry>(server.url).greeting.hello({ name: "Ada" }));
await server.close();
// #endregion program
