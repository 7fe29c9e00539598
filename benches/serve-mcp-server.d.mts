import type { OperationRegistry } from "../src/index.ts";

export function buildRegistry(count: number): OperationRegistry;
