/** The operations of the conformance server over stdio, for `lab/mcp/clients.ts`. */
import { serveMCPStdio } from "@alkdev/operations/serve-mcp";
import { createConformanceRegistry } from "./conformance-server.ts";

await serveMCPStdio(createConformanceRegistry(), { name: "conformance" });
