/** An MCP server over stdio whose operations print with everything that a program usually prints with. */
import { Console } from "node:console";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { defineOperation, OperationRegistry, Type } from "@alkdev/operations";
import { serveMCPStdio } from "@alkdev/operations/serve-mcp";

// What a logger keeps from the time before the server starts.
const { stdout } = process;
const { write } = stdout;
const early = new Console(stdout);

const print = defineOperation({
  namespace: "noise",
  name: "print",
  type: "mutation",
  inputSchema: Type.Object({ text: Type.String() }),
  outputSchema: Type.Object({ printed: Type.String(), id: Type.String() }),
  accessControl: { requiredScopes: ["noise"] },
  handler: async ({ text }, { identity }) => {
    console.log(text);
    console.table([{ text }]);
    early.log(text);
    write.call(stdout, `${text}\n`);
    await pipeline(Readable.from(Array.from({ length: 50 }, () => "x".repeat(65_536))), process.stdout);
    process.stdout.write(`${text} without a newline`);
    return { printed: text, id: identity!.id };
  },
});

const end = defineOperation({
  namespace: "noise",
  name: "end",
  type: "mutation",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: () => {
    process.stdout.end("the end");
  },
});

const wait = defineOperation({
  namespace: "noise",
  name: "wait",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: (_input, { signal }) => {
    signal.addEventListener("abort", () => console.error("aborted"));
    return new Promise<never>(() => {});
  },
});

const fill = defineOperation({
  namespace: "noise",
  name: "fill",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: () => "x".repeat(200_000_000),
});

const grow = defineOperation({
  namespace: "noise",
  name: "grow",
  type: "mutation",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: () => {
    registry.register(defineOperation({ ...wait, name: "added" }));
  },
});

const registry = new OperationRegistry();
registry.registerAll([print, end, wait, fill, grow]);
const served = await serveMCPStdio(registry, { identity: { id: "local", scopes: ["noise"] } });
await served.closed;
console.error("closed");
