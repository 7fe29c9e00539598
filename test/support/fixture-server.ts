import { fileURLToPath } from "node:url";
import {
  type CallError,
  type CallOptions,
  isCallError,
  OperationRegistry,
  type ResponseEnvelope,
  type SourceReport,
} from "@alkdev/operations";
import {
  closeMCPClient,
  createMCPClient,
  type MCPClientConfig,
  type MCPClientWrapper,
} from "@alkdev/operations/from-mcp";
import { onTestFinished } from "vitest";

/** Returns how to start one of the programs in `test/fixtures/mcp-servers`. */
export function fixtureServer(file: string, ...args: string[]): MCPClientConfig {
  const path = fileURLToPath(new URL(`../fixtures/mcp-servers/${file}.mjs`, import.meta.url));
  return { command: process.execPath, args: [path, ...args] };
}

/** A server whose tools are registered in the namespace `fixture`. */
export interface FixtureServer {
  client: MCPClientWrapper;
  registry: OperationRegistry;
  /** What was reported so far. */
  reports: SourceReport[];
  call(tool: string, input?: unknown, options?: CallOptions): Promise<ResponseEnvelope>;
}

/** Imports a server as an application would. `closeLater` receives what closes it, by default when the test ends. */
export async function openFixture(
  config: MCPClientConfig,
  closeLater: (close: () => Promise<void>) => void = onTestFinished,
): Promise<FixtureServer> {
  const reports: SourceReport[] = [];
  const client = await createMCPClient("fixture", { onReport: (report) => reports.push(report), ...config });
  closeLater(() => closeMCPClient(client));
  const registry = new OperationRegistry();
  registry.registerAll(client.tools);
  return {
    client,
    registry,
    reports,
    call: (tool, input = {}, options) => registry.execute(`fixture.${tool}`, input, options),
  };
}

/** The `CallError` that a call fails with. Anything else fails the test. */
export async function failureOf(call: Promise<unknown>): Promise<CallError> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome && isCallError(outcome.error)) return outcome.error;
  throw new Error(`Expected a CallError, got ${JSON.stringify(outcome)}`, { cause: outcome });
}
