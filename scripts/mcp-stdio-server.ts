/** The operations of the conformance server over stdio, for `scripts/mcp-clients.ts`. */
import { serveMCPStdio } from "@alkdev/operations/serve-mcp";
import { createConformanceRegistry } from "./mcp/conformance-server.ts";

await serveMCPStdio(createConformanceRegistry(), { name: "conformance" });
