/** An MCP server over stdio whose operation prints with everything that a program usually prints with. */
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { serveMCPStdio } from "@alkdev/operations/serve-mcp";

const print = defineOperation({
  namespace: "noise",
  name: "print",
  type: "mutation",
  inputSchema: Type.Object({ text: Type.String() }),
  outputSchema: Type.Object({ printed: Type.String(), id: Type.String() }),
  accessControl: { requiredScopes: ["noise"] },
  handler: ({ text }, { identity }) => {
    console.log(text);
    console.table([{ text }]);
    process.stdout.write(`${text} without a newline`);
    return { printed: text, id: identity!.id };
  },
});

const wait = defineOperation({
  namespace: "noise",
  name: "wait",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: (_input, { signal }) => {
    signal.addEventListener("abort", () => console.log("aborted"));
    return new Promise<never>(() => {});
  },
});

const registry = createRegistry({ operations: [print, wait] });
const served = await serveMCPStdio(registry, { identity: { id: "local", scopes: ["noise"] } });
await served.closed;
console.log("closed");
