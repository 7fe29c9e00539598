import { expectTypeOf } from "vitest";
import type { MCPContentBlock, OperationHandler, OperationSpec } from "../../operation/index.ts";
import { OperationRegistry } from "../../registry/index.ts";
import type { OperationSource } from "../source.ts";
import {
  closeMCPClient,
  createMCPClient,
  type MCPClientConfig,
  MCPClientLoader,
  type MCPClientWrapper,
  mapMCPContentBlocks,
} from "./index.ts";

// The names and shapes of the seeds.
expectTypeOf<MCPClientWrapper["tools"]>().toExtend<Array<OperationSpec & { handler: OperationHandler }>>();
expectTypeOf<MCPClientWrapper>().toExtend<OperationSource>();
expectTypeOf(createMCPClient).toBeCallableWith("name", { command: "node", args: [], env: {}, cwd: "/" });
expectTypeOf(createMCPClient).toBeCallableWith("name", { url: "https://example.com/mcp", headers: { a: "b" } });
expectTypeOf(createMCPClient).returns.resolves.toEqualTypeOf<MCPClientWrapper>();
expectTypeOf(closeMCPClient).returns.resolves.toEqualTypeOf<void>();
expectTypeOf(mapMCPContentBlocks).returns.toEqualTypeOf<MCPContentBlock[]>();

const loader = new MCPClientLoader();
expectTypeOf(loader.load).parameter(0).toEqualTypeOf<Record<string, MCPClientConfig>>();
expectTypeOf(loader.load).returns.resolves.toEqualTypeOf<MCPClientWrapper[]>();
expectTypeOf(loader.getClient("name")).toEqualTypeOf<MCPClientWrapper | undefined>();
expectTypeOf(loader.getAllWrappers()).toEqualTypeOf<MCPClientWrapper[]>();
expectTypeOf(loader.getAllOperations()).toExtend<Array<OperationSpec & { handler: OperationHandler }>>();
expectTypeOf(loader.closeAll).returns.resolves.toEqualTypeOf<void>();

const registry = new OperationRegistry();
registry.registerAll(loader.getAllOperations());
expectTypeOf(loader.registerAll).toBeCallableWith(registry);
