/** Test helpers for hubs. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach } from "vitest";
import { deferred } from "../internal/testing.ts";
import { type Listener, listen } from "../node/index.ts";
import { defineOperation, type IOperationDefinition, type OperationContext, Type } from "../operation/index.ts";
import { createRegistry } from "../registry/index.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { serveMCP } from "../serve/mcp/index.ts";
import { serveWebSocket } from "../transport/websocket/index.ts";
import type { HubConfig } from "./config.ts";
import { createHub, type Hub, type HubOptions } from "./hub.ts";
import type { SourceState } from "./hub-source.ts";

/** What the tests of a file share. Everything that was started is closed after each test. */
export interface HubTests {
  /** An empty folder for each test. */
  readonly folder: string;
  /** Closes it after the test. */
  closeLater<T extends { close(): Promise<unknown> }>(closable: T): T;
  /** Starts a hub whose configuration is in the folder of the test, and which retries without long delays. */
  start(config: HubConfig, options?: HubOptions): Promise<Hub>;
  /** Serves operations over HTTP, MCP (`/mcp`) and WebSocket (`/calls`) without authentication. */
  serve(operations: readonly IOperationDefinition[], port?: number): Promise<Listener>;
  /** Writes a module with the query `tasks.<name>`, whose handler is the given JavaScript. */
  writeModule(name: string, handler: string, directory?: string, namespace?: string): Promise<void>;
}

/** Prepares a folder for each test of a file. */
export function setUpHubs(): HubTests {
  let folder = "";
  let open: Array<{ close(): Promise<unknown> }> = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "hub-"));
  });
  afterEach(async () => {
    for (const one of open.reverse()) await one.close();
    open = [];
    await rm(folder, { recursive: true, force: true });
  });

  const tests: HubTests = {
    get folder() {
      return folder;
    },
    closeLater: (closable) => {
      open.push(closable);
      return closable;
    },
    start: async (config, options = {}) => {
      const environment = { XDG_STATE_HOME: folder };
      const retry = { first: 5, max: 20 };
      const startTimeout = Number.POSITIVE_INFINITY; // Sources may take long on a busy machine.
      return tests.closeLater(await createHub(config, { folder, environment, retry, startTimeout, ...options }));
    },
    serve: async (operations, port = 0) => {
      const registry = createRegistry({ operations: [...operations] });
      const options = { authenticate: "none" } as const;
      const servers = {
        "/": serveHTTP(registry, options),
        "/mcp": serveMCP(registry, options),
        "/calls": serveWebSocket(registry, options),
      };
      return tests.closeLater(await listen(servers, { port, closeTimeout: 0 }));
    },
    writeModule: async (name, handler, directory = "operations", namespace = "tasks") => {
      await mkdir(join(folder, directory), { recursive: true });
      const spec = { namespace, name, version: "1.0.0", type: "query", description: "", outputSchema: {} };
      const access = { inputSchema: { type: "object" }, accessControl: { requiredScopes: [] } };
      const code = `export default { ...${JSON.stringify({ ...spec, ...access })}, handler: ${handler} };`;
      await writeFile(join(folder, directory, `${name}.mjs`), code);
    },
  };
  return tests;
}

/** A query `shop.<name>` without input. */
export function shopOperation(
  name: string,
  handler: (input: unknown, context: OperationContext) => unknown,
  overrides: Partial<IOperationDefinition> = {},
): IOperationDefinition {
  const schemas = { inputSchema: Type.Object({}), outputSchema: Type.Unknown() };
  return defineOperation({ namespace: "shop", name, type: "query", ...schemas, handler, ...overrides });
}

/** Calls an operation as a caller with these scopes. Returns the data, or the code of the error. */
export async function callAs(scopes: readonly string[], hub: Hub, id: string, input: object = {}): Promise<unknown> {
  try {
    return (await hub.registry.execute(id, input, { identity: { id: "ada", scopes: [...scopes] } })).data;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Ids of the operations of all sources. */
export function idsOf({ registry }: Hub): string[] {
  const ids = registry.getAllSpecs().map(({ namespace, name }) => `${namespace}.${name}`);
  return ids.filter((id) => !id.startsWith("hub."));
}

/** Resolves when the state of a source has these properties. Every state is examined, however short it is. */
export async function whenState(hub: Hub, name: string, expected: Partial<SourceState>): Promise<void> {
  const { promise, resolve } = deferred();
  const examine = (state: SourceState) => {
    if (state.name === name && isDeepStrictEqual({ ...state, ...expected }, state)) resolve();
  };
  const stop = hub.onSourceChange(examine);
  hub.sources().forEach(examine);
  await promise;
  stop();
}
