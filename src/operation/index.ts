// Declarations of this package mention `AsyncDisposable`, which programs for browsers often do not have among their `lib`.
/// <reference lib="esnext.disposable" preserve="true" />
// The public names. Siblings that need more enter through `inside.ts`.
export { checkAccess, enforceAccess } from "./check-access.ts";
export type * from "./client.ts";
export { unwrap } from "./client.ts";
export type * from "./context.ts";
export type * from "./declared-errors.ts";
export { isDeclaredError } from "./declared-errors.ts";
export * from "./default-builders.ts";
export * from "./define.ts";
export type * from "./envelope.ts";
export { httpEnvelope, isResponseEnvelope, localEnvelope, mcpEnvelope, RESPONSE_SOURCES } from "./envelope.ts";
export type * from "./error.ts";
export { CallError, errorCodes, InfrastructureErrorCode, isCallError, mapError } from "./error.ts";
export type { AuthenticatedIdentity, Identity } from "./identity.ts";
export * from "./infer.ts";
export * from "./known.ts";
export type { Limits } from "./limits.ts";
export type * from "./mcp-content.ts";
export { MCPContentBlockSchema } from "./mcp-content.ts";
export { parseOperationId } from "./operation-id.ts";
export * from "./response-meta.ts";
export type * from "./spec.ts";
export { OperationSpecSchema, OperationType } from "./spec.ts";
export * from "./type.ts";
