import { createRegistry } from "@alkdev/operations";
import { serveMCPStdio } from "@alkdev/operations/serve-mcp";
import { operations } from "./operations.ts";

const registry = createRegistry({ operations });
await serveMCPStdio(registry, { name: "tasks", identity: { id: "local", scopes: ["tasks:write"] } });
